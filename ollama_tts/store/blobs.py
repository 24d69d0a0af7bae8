"""Content-addressed files: streamed in, hashed, synced, and only then visible."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeVar

from ollama_tts.errors import BlobNotFound, DigestMismatch, InvalidName, StoreFailed, TooLarge
from ollama_tts.names import Digest
from ollama_tts.store.durable import (
    failures,
    make_folder,
    sync_folder,
    temporary_beside,
    write_atomically,
)
from ollama_tts.store.layout import Layout
from ollama_tts.store.quota import Quota

T = TypeVar("T")

DEFAULT_MAX_BYTES = 64 * 1024**3
_BLOCK_BYTES = 1024 * 1024


class Blobs:
    """The blobs of one store. Safe to use from several threads and processes at once."""

    def __init__(
        self, layout: Layout, max_bytes: int = DEFAULT_MAX_BYTES, quota_bytes: int = 0
    ) -> None:
        self._layout = layout
        self._max_bytes = max_bytes
        self.quota = Quota(layout.blobs, quota_bytes)

    def has(self, digest: Digest) -> bool:
        """Whether the whole, verified blob is there."""
        return self._layout.blob(digest).is_file()

    def offer(self, digest: Digest) -> bool:
        """`has`, and if so the blob counts as fresh: pruning spares it for another hour."""
        path = self._layout.blob(digest)
        if not path.is_file():
            return False
        with suppress(OSError):  # a read-only store still answers
            os.utime(path)
        return True

    def path(self, digest: Digest) -> Path:
        """The file of a blob.

        Raises:
            BlobNotFound: It is not there.
        """
        path = self._layout.blob(digest)
        if not path.is_file():
            raise missing(digest)
        return path

    def size_bytes(self, digest: Digest) -> int:
        """The size of a blob.

        Raises:
            BlobNotFound: It is not there.
        """
        try:
            return self._layout.blob(digest).stat().st_size
        except OSError as error:
            raise missing(digest) from error

    def read(self, digest: Digest, limit_bytes: int) -> bytes:
        """The content of a small blob.

        Raises:
            BlobNotFound: It is not there.
            StoreFailed: It is larger than `limit_bytes`, or cannot be read.
        """
        try:
            with self._layout.blob(digest).open("rb") as file:
                data = file.read(limit_bytes + 1)
        except FileNotFoundError as error:
            raise missing(digest) from error
        except OSError as error:
            raise StoreFailed(f"could not read blob {digest}: {error.strerror}") from error
        if len(data) > limit_bytes:
            raise StoreFailed(f"blob {digest} is larger than the {limit_bytes} bytes expected")
        return data

    def put(self, data: bytes) -> Digest:
        """Store some bytes under their own digest, unless they are there.

        Raises:
            StoreFailed: Disk full, read-only …
        """
        digest = Digest.of(data)
        if not self.has(digest):
            with failures("write a blob"):
                make_folder(self._layout.blobs, self._layout.root)
                write_atomically(self._layout.blob(digest), data)
        return digest

    def add(self, digest: Digest, chunks: Iterable[bytes]) -> bool:
        """Store streamed bytes announced under `digest`; True if they were not there before.

        An existing blob answers without reading `chunks`.

        Raises:
            DigestMismatch: The bytes are others; nothing of them is kept.
            TooLarge: More bytes than the store takes.
            StoreFailed: Disk full, read-only …
        """
        if self.offer(digest):
            return False
        with self.writing(digest) as writer:
            for chunk in chunks:
                writer.write(chunk)
            writer.commit()
        return True

    async def add_stream(self, digest: Digest, chunks: AsyncIterable[bytes]) -> bool:
        """`add` for an asynchronous body: disk and hash work in a thread, a block at a time.

        Raises:
            DigestMismatch: The bytes are others; nothing of them is kept.
            TooLarge: More bytes than the store takes.
            StoreFailed: Disk full, read-only …
        """
        if await asyncio.to_thread(self.offer, digest):
            return False
        with self.writing(digest) as writer:
            block = bytearray()
            async for chunk in chunks:
                block += chunk
                if len(block) >= _BLOCK_BYTES:
                    await _in_thread(writer, bytes(block))
                    block.clear()
            await _in_thread(writer, bytes(block), last=True)
        return True

    @contextmanager
    def writing(self, digest: Digest | None = None) -> Iterator["BlobWriter"]:
        """A writer for one blob; leaving the block without `commit` leaves nothing behind.

        Without `digest` the blob gets that of whatever bytes come.
        """
        with failures("write a blob"):
            make_folder(self._layout.blobs, self._layout.root)
            writer = BlobWriter(self._layout, digest, self._max_bytes, self.quota)
        try:
            yield writer
        finally:
            writer.discard()

    def settle(self, digest: Digest, at: datetime) -> None:
        """Let the blob count as last offered at `at`: a manifest names it, the wait is over."""
        with suppress(OSError):  # somebody else's file: it is then only spared a little longer
            os.utime(self._layout.blob(digest), (at.timestamp(), at.timestamp()))

    def offered_at(self, digest: Digest) -> datetime:
        """When the blob was last uploaded or offered.

        Raises:
            BlobNotFound: It is not there.
        """
        try:
            return datetime.fromtimestamp(self._layout.blob(digest).stat().st_mtime, UTC)
        except OSError as error:
            raise missing(digest) from error

    def remove(self, digest: Digest) -> int | None:
        """Remove a blob; gives the bytes freed, None where it was not there.

        Raises:
            StoreFailed: It is there and cannot be removed.
        """
        path = self._layout.blob(digest)
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreFailed(f"could not remove blob {digest}: {error.strerror}") from error
        return size

    def stored(self) -> Iterator[tuple[Digest, datetime]]:
        """Every blob with the time of its last upload or offer."""
        for path, modified_at in self._files():
            with suppress(InvalidName):
                yield Digest.parse(path.name), modified_at

    def rename_old_style(self) -> None:
        """Rename `sha256:<hex>`, as early versions of Ollama wrote it, to `sha256-<hex>`.

        Raises:
            StoreFailed: A file cannot be renamed.
        """
        with failures("rename a blob"):
            for path, _ in self._files():
                if path.name.startswith("sha256:"):
                    with suppress(InvalidName):
                        path.replace(self._layout.blob(Digest.parse(path.name)))

    def _files(self) -> Iterator[tuple[Path, datetime]]:
        try:
            entries = list(os.scandir(self._layout.blobs))
        except FileNotFoundError:
            return
        for entry in entries:
            try:
                stat = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process was quicker
                continue
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path), datetime.fromtimestamp(stat.st_mtime, UTC)


class BlobWriter:
    """One blob on its way in, until then at `path`. Give it bytes with `write`, then `commit`."""

    def __init__(
        self, layout: Layout, announced: Digest | None, max_bytes: int, quota: Quota
    ) -> None:
        self._quota = quota
        self._unchecked_bytes = _BLOCK_BYTES
        self._layout = layout
        self._announced = announced
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        self.size_bytes = 0
        name = announced.filename if announced else "new"
        self.path = temporary_beside(layout.blobs / name)
        self._file: BinaryIO | None = self.path.open("xb", buffering=0)

    @property
    def digest(self) -> Digest:
        """That of the bytes so far."""
        return Digest(self._hash.hexdigest())

    def write(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            TooLarge: More bytes than the store takes.
            StoreFull: The disk or the quota has no room.
            StoreFailed: Read-only …
        """
        assert self._file is not None
        self.size_bytes += len(chunk)
        if self.size_bytes > self._max_bytes:
            raise TooLarge(f"blob is larger than the {self._max_bytes} bytes this server takes")
        with failures("write a blob"):
            rest = memoryview(chunk)
            while rest:
                rest = rest[self._file.write(rest) :]
        self._unchecked_bytes += len(chunk)
        if self._unchecked_bytes >= _BLOCK_BYTES:
            self._quota.check()
            self._unchecked_bytes = 0
        self._hash.update(chunk)

    def commit(self) -> None:
        """Check the digest and make the blob visible; after that a power cut cannot undo it.

        Raises:
            DigestMismatch: The bytes are others; nothing of them is kept.
            StoreFull: The disk or the quota has no room.
            StoreFailed: Read-only …
        """
        assert self._file is not None
        self._quota.check()
        got = self.digest
        if self._announced not in {None, got}:
            self.discard()
            raise DigestMismatch(str(self._announced), str(got))
        with failures("write a blob"):
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            self.path.replace(self._layout.blob(got))
            sync_folder(self._layout.blobs)

    def discard(self) -> None:
        """Forget what was written, unless it was committed."""
        if self._file is not None:
            self._file.close()
            self._file = None
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


async def _in_thread(writer: BlobWriter, block: bytes, *, last: bool = False) -> None:
    """Write (and commit) in a thread."""

    def work() -> None:
        writer.write(block)
        if last:
            writer.commit()

    await settled(work)


async def settled(work: Callable[[], T]) -> T:
    """What `work` gives, done in a thread; a cancelled caller waits until the thread has let go."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def missing(digest: Digest) -> BlobNotFound:
    """The error for a blob that is not there, in Ollama's words."""
    return BlobNotFound(f'blob "{digest}" not found')
