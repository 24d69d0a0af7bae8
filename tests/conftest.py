"""For all tests."""

import gc
import signal
from collections.abc import Iterator

import pytest

# Where tests run in the background, SIGINT is ignored, and whatever they start would inherit that:
# a Ctrl-C sent to it would be lost. Handlers are not inherited, only being ignored is.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_open() -> Iterator[None]:
    """Collect garbage after each module: what it left open fails it, not whoever comes later."""
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The server is asyncio's; trio may have come in with some client."""
    return "asyncio"
