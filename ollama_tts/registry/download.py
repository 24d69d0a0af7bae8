"""One blob fetched in ranged parts, several at a time, and gone on with after any cut."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ollama_tts.errors import BlobNotFound, StoreFailed, Unreachable
from ollama_tts.names import Digest
from ollama_tts.registry.failures import Passing, Refused
from ollama_tts.registry.patience import Patience
from ollama_tts.store.blobs import Blobs
from ollama_tts.store.layout import Layout
from ollama_tts.store.partial import Part, Partial, PartialBusy

_T = TypeVar("_T")
Report = Callable[[int, int], None]
_HASH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Body:
    """Bytes of a blob from `start` on. `total` is the size of the whole, if the server says."""

    start: int
    total: int | None
    chunks: AsyncIterator[bytes]


class Source(Protocol):
    """Where one blob comes from."""

    def open(self, start: int, stop: int | None) -> AbstractAsyncContextManager[Body]:
        """Ask for the bytes from `start` up to `stop`; the answer may begin at 0 all the same.

        Raises:
            Passing: It may work later.
            UpstreamFailed: It will not.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cut:
    """How a blob is cut: `parallel` parts at a time, each of at most `part_bytes`.

    Parts of smaller blobs are smaller, down to `least_bytes`: hashing follows from the front, and
    what lies behind the last part still missing is all that is left for it at the end. A process
    that dies loses less than one part. Uploads go in chunks of `chunk_bytes`, one after the other.
    """

    part_bytes: int = 64 * 1024 * 1024
    parallel: int = 8
    block_bytes: int = 1024 * 1024
    chunk_bytes: int = 64 * 1024 * 1024
    least_bytes: int = 8 * 1024 * 1024

    def part_of(self, size_bytes: int) -> int:
        """Bytes of each part of a blob of `size_bytes`."""
        return min(self.part_bytes, max(self.least_bytes, size_bytes // (8 * self.parallel)))

    def block_of(self, size_bytes: int) -> int:
        """Bytes that each part holds back before they are written: all of them half a part."""
        return max(1, min(self.block_bytes, self.part_of(size_bytes) // (2 * self.parallel)))

    def save_of(self, size_bytes: int) -> int:
        """Bytes after which the state is written down: a quarter of a part."""
        return max(1, self.part_of(size_bytes) // 4)


class _NoRanges(Exception):
    """The server answers every range with the whole."""


@dataclass(slots=True, eq=False)
class Download:
    """Brings one blob into a store. `report(completed, total)` is called after every block.

    `size_bytes` None asks the server for the size first.
    """

    blobs: Blobs
    layout: Layout
    digest: Digest
    size_bytes: int | None
    source: Source
    report: Report
    patience: Patience = field(default_factory=Patience)
    cut: Cut = field(default_factory=Cut)
    _moved: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def run(self) -> None:
        """Fetch what is missing, check it, and make it visible.

        Raises:
            UpstreamFailed: The server's fault; parts stay for another try.
            Failed: The bytes hash to another digest; they are thrown away.
            StoreFailed: Disk full …
        """
        size = self.size_bytes
        if size is None:
            size = await self.patience.tries(self._ask_size)
        partial = await self._claim(size)
        if partial is None:
            return
        try:
            await self._fill(partial)
            await _in_thread(partial.publish)
        finally:
            partial.close()

    async def _ask_size(self) -> int:
        async with self.source.open(0, 1) as body:
            if body.total is None:
                raise Refused(f"blob {self.digest}: the server does not tell its size")
            return body.total

    async def _claim(self, size: int) -> Partial | None:
        """The partial file, once no other process has it; None if the blob has come meanwhile."""
        while not self._there():
            try:
                partial = await self._opened(size)
            except PartialBusy:
                await self.patience.sleep(self.patience.base_s)
                continue
            if not self._there():
                return partial
            partial.discard()
        return None

    def _there(self) -> bool:
        try:
            return self.blobs.size_bytes(self.digest) >= 0
        except BlobNotFound:
            return False

    async def _opened(self, size: int) -> Partial:
        """Open in a thread; whoever is cancelled meanwhile leaves no lock behind."""
        opening = asyncio.ensure_future(asyncio.to_thread(self._open, size))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            await _ended([opening])
            if opening.exception() is None:
                opening.result().close()
            raise

    def _open(self, size: int) -> Partial:
        part, save = self.cut.part_of(size), self.cut.save_of(size)
        self.blobs.quota.check(size, instead_of=f"{self.digest.filename}-partial")
        return Partial(self.layout, self.digest, size, part, save_bytes=save)

    async def _fill(self, partial: Partial) -> None:
        self._tell(partial)
        try:
            await self._parts(partial)
        except _NoRanges:
            await _in_thread(lambda: partial.restart(partial.size_bytes))
            await self._parts(partial)

    async def _parts(self, partial: Partial) -> None:
        """Fill all parts, the first ones first."""
        waiting = deque(part for part in partial.parts if part.missing)

        async def work() -> None:
            while waiting:
                await self._part(partial, waiting.popleft())

        hashing = asyncio.ensure_future(self._hash_along(partial))
        try:
            await _together([work() for _ in range(min(self.cut.parallel, len(waiting)))])
        finally:
            hashing.cancel()
            await _ended([hashing])

    async def _hash_along(self, partial: Partial) -> None:
        """Hash behind the parts as they fill; ends by being cancelled."""
        with suppress(StoreFailed):  # `publish` meets it again
            while True:
                while partial.unhashed_bytes >= _HASH_BYTES:
                    await _in_thread(lambda: partial.hash_ahead(4 * _HASH_BYTES))
                self._moved.clear()
                await self._moved.wait()

    async def _part(self, partial: Partial, part: Part) -> None:
        """Fill one part, try after try."""
        failures = cuts = 0
        while part.missing:
            before = part.done
            try:
                await self._stretch(partial, part)
            except (Passing, Unreachable) as error:
                failures = 0 if part.done > before else failures + 1
                cuts += 1
                if failures >= self.patience.attempts or cuts >= self.patience.cuts:
                    raise
                asked_s = error.retry_after_s if isinstance(error, Passing) else 0.0
                await self.patience.sleep(self.patience.pause_s(failures, asked_s))

    async def _stretch(self, partial: Partial, part: Part) -> None:
        """Take what one answer brings of a part."""
        async with self.source.open(part.at, part.stop) as body:
            self._check(partial, part, body)
            skip = part.at - body.start
            block, full_bytes = bytearray(), self.cut.block_of(partial.size_bytes)
            try:
                async with aclosing(self._paced(body.chunks)) as chunks:
                    async for chunk in chunks:
                        if not part.missing:
                            return  # more than was asked for; to the end otherwise, so that
                        block += chunk[skip:]  # the connection can be used again
                        skip = max(0, skip - len(chunk))
                        if len(block) >= min(full_bytes, part.missing):
                            full, block = block, bytearray()
                            await self._write(partial, part, full)
            finally:
                if part.missing and block:
                    del block[part.missing :]
                    partial.write(part, block)
                    self._tell(partial)
        if part.missing:
            raise Passing(f"blob {self.digest}: the answer ended {part.missing} bytes too early")

    def _check(self, partial: Partial, part: Part, body: Body) -> None:
        if body.total is not None and body.total != partial.size_bytes:
            raise Refused(
                f"blob {self.digest} has {body.total} bytes there, not {partial.size_bytes}"
            )
        if body.start > part.at:
            raise Refused(f"blob {self.digest}: the answer begins at byte {body.start}")
        if body.start < part.at and len(partial.parts) > 1:
            raise _NoRanges

    async def _write(self, partial: Partial, part: Part, block: bytearray) -> None:
        del block[part.missing :]
        await _in_thread(lambda: partial.write(part, block))
        self._tell(partial)

    def _tell(self, partial: Partial) -> None:
        self._moved.set()
        self.report(partial.done_bytes, partial.size_bytes)

    async def _paced(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
        """The same chunks, unless they drip."""
        began, got = self.patience.clock(), 0
        async for chunk in chunks:
            yield chunk
            got += len(chunk)
            now = self.patience.clock()
            if now - began >= self.patience.window_s:
                if got < self.patience.slowest_bytes:
                    raise Passing(
                        f"blob {self.digest}: stalled, {got} bytes in {now - began:.0f} s"
                    )
                began, got = now, 0


async def _together(works: list[Coroutine[None, None, None]]) -> None:
    """Run all; the first failure ends the others and is raised alone."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await _ended(tasks)


async def _in_thread(work: Callable[[], None]) -> None:
    """Run in a thread; a cancelled caller waits until the thread has let go of the file."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await _ended([task])
        raise


async def _ended(tasks: Sequence[asyncio.Future[_T]]) -> None:
    """Return when all are over, however often the caller is cancelled: a file is in their hands."""
    while not all(task.done() for task in tasks):
        with suppress(asyncio.CancelledError):
            await asyncio.wait(tasks)
