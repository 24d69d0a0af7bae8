"""Callers of a scheduler: each is a request in a task of its own, which the test holds open."""

import asyncio
from typing import Any

from ollama_tts.config import Settings
from ollama_tts.metrics import Metrics
from ollama_tts.options import LoadOptions
from ollama_tts.scheduler import Lease, Scheduler, Terms
from ollama_tts.scheduler.loading import Backends
from ollama_tts.store.model import LocalModel
from tests.support.manual_clock import ManualClock

PATIENCE_S = 30


async def settle() -> None:
    """Let every task run until it waits for something outside the loop."""
    for _ in range(20):
        await asyncio.sleep(0)


def make_scheduler(
    backends: Backends,
    clock: ManualClock,
    **settings: Any,  # noqa: ANN401
) -> Scheduler:
    return Scheduler(Settings(**settings), backends, Metrics(), clock=clock, now=clock.now)


class Caller:
    """Asks for a lease at once and keeps it until `leave`, `fail` or `cancel`."""

    def __init__(
        self,
        scheduler: Scheduler,
        model: LocalModel,
        options: LoadOptions | None = None,
        *,
        keep_alive_s: float | None = None,
        priority: int = 0,
        client: str = "",
        chars: int | None = None,
        deadline_s: float | None = None,
    ) -> None:
        self.scheduler = scheduler
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._granted: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        terms = Terms(client, priority, chars, deadline_s)
        self._asks = scheduler.lease(model, options or LoadOptions(), keep_alive_s, terms)
        self.task = asyncio.create_task(self._run())
        # the loop holds us: a task that nobody holds may be collected, and its lease with it
        asyncio.get_running_loop().call_later(3600, self.task.done)

    async def _run(self) -> None:
        async with self._asks as lease:
            self._granted.set_result(lease)
            await self._end

    @property
    def lease(self) -> Lease:
        """The lease of one who speaks."""
        return self._granted.result()

    @property
    def speaks(self) -> bool:
        return self._granted.done() and not self.task.done()

    @property
    def waits(self) -> bool:
        return not self._granted.done() and not self.task.done()

    async def granted(self) -> Lease:
        """The lease, once there is one; the error, if there is none."""
        either: set[asyncio.Future[Any]] = {self._granted, self.task}
        await asyncio.wait(either, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if self.task.done():
            await self.task
        assert self._granted.done(), "no lease came"
        return self._granted.result()

    def end(self) -> None:
        """Let it end the lease when its task runs next."""
        self._end.set_result(None)

    async def leave(self) -> None:
        self.end()
        await self.task

    async def fail(self, error: Exception) -> None:
        self._end.set_exception(error)
        await asyncio.wait({self.task})

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})
