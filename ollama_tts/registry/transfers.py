"""`Transfers`: one download per digest, however many callers watch it.

The last watcher who leaves ends it; what was fetched stays for another try.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass

from ollama_tts.errors import Cancelled
from ollama_tts.names import Digest
from ollama_tts.registry.download import Report

Work = Callable[[Report], Coroutine[None, None, None]]
REPORT_S = 0.06  # as often as Ollama


@dataclass(slots=True, eq=False)
class _Transfer:
    """One download that runs. `total` may be unknown at first: 0."""

    total: int
    completed: int = 0
    watchers: int = 0
    task: asyncio.Task[None] | None = None

    def report(self, completed: int, total: int) -> None:
        self.completed, self.total = completed, total


class Transfers:
    """The downloads of one node; belongs to one event loop."""

    def __init__(self, report_s: float = REPORT_S) -> None:
        self._report_s = report_s
        self._running: dict[Digest, _Transfer] = {}

    async def follow(
        self, digest: Digest, total: int, work: Work
    ) -> AsyncGenerator[tuple[int, int]]:
        """Run `work`, or join whoever runs it; yields (completed, total) as it goes on.

        Returns when the blob is there. A download that another caller began and that fails is
        begun once more here, from this caller's own source.

        Raises:
            OllamaTTSError: What `work` raises.
            Cancelled: The node is closing.
        """
        while True:
            transfer, mine = await self._join(digest, total, work)
            task = transfer.task
            assert task is not None
            try:
                while not task.done():
                    yield transfer.completed, transfer.total
                    await asyncio.wait({task}, timeout=self._report_s)
            finally:
                await self._leave(transfer)
            if task.cancelled():
                raise Cancelled(f"blob {digest}: the download was ended, the server stops")
            failed = task.exception() is not None
            if mine or not failed:
                task.result()
                yield transfer.total, transfer.total
                return

    async def _join(self, digest: Digest, total: int, work: Work) -> tuple[_Transfer, bool]:
        while (transfer := self._running.get(digest)) is not None:
            assert transfer.task is not None
            if transfer.watchers:
                transfer.watchers += 1
                return transfer, False
            await asyncio.wait({transfer.task})  # its last watcher just left
            await asyncio.sleep(0)
        transfer = _Transfer(total, watchers=1)
        self._running[digest] = transfer
        transfer.task = asyncio.create_task(work(transfer.report))
        transfer.task.add_done_callback(lambda task: self._ended(digest, task))
        return transfer, True

    def _ended(self, digest: Digest, task: asyncio.Task[None]) -> None:
        self._running.pop(digest, None)
        if not task.cancelled():
            task.exception()  # seen: watchers may all have left

    async def _leave(self, transfer: _Transfer) -> None:
        transfer.watchers -= 1
        task = transfer.task
        if task is not None and not transfer.watchers and not task.done():
            task.cancel()
            await asyncio.wait({task})

    async def aclose(self) -> None:
        """End all downloads; what was fetched stays."""
        tasks = [t.task for t in self._running.values() if t.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
