"""One blob sent to a registry in chunks, and gone on with after a cut where the registry can.

A registry may hand a chunk to a storage host, as Ollama's own does: asked with
`X-Redirect-Uploads`, it answers 307, and the chunk is put there, without what we show the registry.
"""

import asyncio
import functools
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from ollama_tts.errors import StoreFailed, Unreachable, UpstreamFailed
from ollama_tts.names import Digest
from ollama_tts.registry.download import Report
from ollama_tts.registry.failures import Passing
from ollama_tts.registry.repository import Repository
from ollama_tts.registry.web import BadStatus

_BLOCK_BYTES = 1024 * 1024
_RANGE = re.compile(r"(?:bytes=)?0-(\d{1,18})")


@dataclass(slots=True, eq=False)
class Upload:
    """Sends one blob. `report(completed, total)` is called after every block."""

    repository: Repository
    digest: Digest
    path: Path
    size_bytes: int
    report: Report
    chunk_bytes: int
    mount_from: str = ""
    _stored: list[bytes] = field(default_factory=list, init=False)  # md5 of each redirected chunk

    async def run(self) -> None:
        """Send the blob, unless the registry has it or can take it from another model.

        Raises:
            UpstreamFailed: The registry refuses or fails.
            StoreFailed: The blob cannot be read.
        """
        patience = self.repository.patience
        if not await patience.tries(lambda: self.repository.has(self.digest)):
            await self._send()
        self.report(self.size_bytes, self.size_bytes)

    async def _send(self) -> None:
        patience = self.repository.patience
        url: httpx.URL | None = await patience.tries(self._begin)
        failures = offset = reached = 0
        while url is not None:
            try:
                await self._chunks(url, offset)
            except (Passing, Unreachable, BadStatus) as error:
                failures += 1
                if failures >= patience.attempts or not _may_pass(error):
                    raise
                await patience.sleep(patience.pause_s(failures, _asked_s(error)))
                url, offset = await self._resumed(url)
                if offset > reached:
                    failures, reached = 0, offset
            else:
                return

    async def _begin(self) -> httpx.URL | None:
        return await self.repository.begin_upload(self.digest, self.mount_from)

    async def _chunks(self, url: httpx.URL, offset: int) -> None:
        """Send all chunks from `offset` on, and say that the blob is whole."""
        while offset < self.size_bytes:
            stop = min(offset + self.chunk_bytes, self.size_bytes)
            url = await self._chunk(url, offset, stop)
            offset = stop
        await self.repository.finish_upload(url, self.digest, _etag(self._stored))

    async def _chunk(self, url: httpx.URL, start: int, stop: int) -> httpx.URL:
        """Send one chunk, to where the registry wants it; gives where the next one goes."""
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(stop - start),
            "Content-Range": f"{start}-{stop - 1}",
            "X-Redirect-Uploads": "1",
        }
        content = functools.partial(self._bytes, start, stop)
        async with self.repository.ask("PATCH", url, headers, content) as response:
            storage = self.repository.storage_url(response)
            following = self.repository.next_url(response, url if storage else None)
        if storage is not None:
            await self.repository.patience.tries(lambda: self._store(storage, start, stop))
        return following

    async def _store(self, url: httpx.URL, start: int, stop: int) -> None:
        """Put one chunk where the registry's storage takes it."""
        found = hashlib.md5(usedforsecurity=False)

        async def content() -> AsyncIterator[bytes]:
            async for block in self._bytes(start, stop):
                found.update(block)
                yield block

        headers = {"Content-Length": str(stop - start)}
        async with self.repository.ask("PUT", url, headers, content):
            self._stored.append(found.digest())

    async def _bytes(self, start: int, stop: int) -> AsyncIterator[bytes]:
        while start < stop:
            block = await asyncio.to_thread(self._read, start, min(_BLOCK_BYTES, stop - start))
            yield block
            start += len(block)
            self.report(start, self.size_bytes)

    def _read(self, start: int, count: int) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                data = file.read(count)
        except OSError as error:
            raise StoreFailed(f"could not read blob {self.digest}: {error.strerror}") from error
        if not data:
            raise StoreFailed(f"blob {self.digest} is shorter than it was")
        return data

    async def _resumed(self, url: httpx.URL) -> tuple[httpx.URL | None, int]:
        """Where and from which byte a cut upload goes on; a new one if the registry forgot it."""
        patience = self.repository.patience
        try:
            return await patience.tries(lambda: self._status(url))
        except BadStatus:
            self._stored.clear()
            return await patience.tries(self._begin), 0

    async def _status(self, url: httpx.URL) -> tuple[httpx.URL, int]:
        async with self.repository.ask("GET", url) as response:
            match = _RANGE.fullmatch(response.headers.get("Range", ""))
            last = int(match[1]) if match else 0
            following = response if "Location" in response.headers else None
            there = self.repository.next_url(following) if following else url
        return there, min(last + 1, self.size_bytes) if last else 0


def _etag(sums: list[bytes]) -> str:
    """What a storage of redirected chunks calls the whole: the md5 of their md5s, and how many."""
    if not sums:
        return ""
    return f"{hashlib.md5(b''.join(sums), usedforsecurity=False).hexdigest()}-{len(sums)}"


def _may_pass(error: UpstreamFailed) -> bool:
    """Whether another try makes sense: the connection broke, or the upload is not known there."""
    return not isinstance(error, BadStatus) or error.status in {404, 416}


def _asked_s(error: UpstreamFailed) -> float:
    return error.retry_after_s if isinstance(error, Passing) else 0.0
