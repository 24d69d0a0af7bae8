"""For all tests."""

import gc
import signal

import hypothesis
import pytest

hypothesis.settings.register_profile("house", deadline=None)  # nothing here asserts a duration
hypothesis.settings.load_profile("house")

# Where tests run in the background, SIGINT is ignored, and whatever they start would inherit that:
# a Ctrl-C sent to it would be lost. Handlers are not inherited, only being ignored is.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Collect garbage behind each folder: what it left open fails it, not whoever comes later."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        gc.collect()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The server is asyncio's; trio may have come in with some client."""
    return "asyncio"
