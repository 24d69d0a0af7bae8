from collections.abc import AsyncIterator

import pytest

from ollama_tts.scheduler import Scheduler
from tests.support.gated_backend import GatedBackend
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import make_scheduler


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def backend() -> GatedBackend:
    """One place a model; loads end at once."""
    return GatedBackend(slots=1, open_gates=True)


@pytest.fixture
async def scheduler(backend: GatedBackend, clock: ManualClock) -> AsyncIterator[Scheduler]:
    """Two models at most, a queue of three."""
    made = make_scheduler(backend, clock, max_loaded_models=2, max_queue=3, keep_alive_s=300.0)
    yield made
    await made.shutdown()
