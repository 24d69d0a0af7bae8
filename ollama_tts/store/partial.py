"""`Partial`: a blob that arrives in parts, which a later process can go on with.

    blobs/sha256-<hex>-partial         the bytes, each where it belongs; locked while written
    blobs/sha256-<hex>-partial.json    how far each part is: size, and start, stop, done of each

The record never claims bytes that were not written before it. It is not synced: a power cut may
cost a download, never a blob, since nothing is visible before size and sha256 were checked.
Everything here blocks.
"""

import fcntl
import hashlib
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from ollama_tts.errors import Failed, StoreFailed, TooLarge
from ollama_tts.names import Digest
from ollama_tts.store.blobs import DEFAULT_MAX_BYTES
from ollama_tts.store.durable import failures, make_folder, sync_folder, temporary_beside
from ollama_tts.store.layout import Layout

MAX_PARTS = 65536
_MAX_RECORD_BYTES = 16 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
_SYNC_BYTES = 128 * 1024 * 1024


class PartialBusy(StoreFailed):
    """Another process fetches this blob."""


@dataclass(slots=True, eq=False)
class Part:
    """The bytes from `start` up to `stop`, of which the first `done` are there."""

    start: int
    stop: int
    done: int = 0

    @property
    def at(self) -> int:
        """Where the next byte belongs."""
        return self.start + self.done

    @property
    def missing(self) -> int:
        """How many bytes are still to come."""
        return self.stop - self.at


class _Record(msgspec.Struct):
    size: int
    parts: list[tuple[int, int, int]]


class Partial:
    """One blob on its way in. `parts` are to be filled with `write`, then `publish`.

    Opening takes over what an earlier try left, if it was of the same size. Parts may be written
    from several threads at once, each part by one of them; one more may `hash_ahead`.
    """

    def __init__(
        self,
        layout: Layout,
        digest: Digest,
        size_bytes: int,
        part_bytes: int,
        *,
        save_bytes: int = 1024 * 1024,
    ) -> None:
        """Open the files.

        Raises:
            PartialBusy: Another process has them.
            TooLarge: Larger than any blob may be.
            StoreFailed: Disk full, read-only …
        """
        if size_bytes > DEFAULT_MAX_BYTES:
            raise TooLarge(
                f"blob {digest} has {size_bytes} bytes; the limit is {DEFAULT_MAX_BYTES}"
            )
        self._layout = layout
        self._digest = digest
        self.size_bytes = size_bytes
        self._save_bytes = save_bytes
        self._unsaved_bytes = self._unsynced_bytes = 0
        self._hash, self._hashed_bytes = hashlib.sha256(), 0
        self._lock = threading.Lock()
        self._path = layout.blobs / f"{digest.filename}-partial"
        self._record = layout.blobs / f"{digest.filename}-partial.json"
        with failures("write a blob"):
            make_folder(layout.blobs, layout.root)
            self._file: int | None = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
            )
        self.parts: Sequence[Part] = ()
        try:
            self._begin(part_bytes)
        except BaseException:
            self._let_go()
            raise

    def _begin(self, part_bytes: int) -> None:
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise PartialBusy(f"blob {self._digest} is being fetched by another process") from error
        parts = self._recorded()
        if parts is None:
            with failures("write a blob"):
                os.ftruncate(self._file, 0)
                os.ftruncate(self._file, self.size_bytes)
            parts = split(self.size_bytes, part_bytes)
        self.parts = parts

    def _recorded(self) -> list[Part] | None:
        """The parts as an earlier try left them; None where they cannot be gone on with."""
        assert self._file is not None
        try:
            if os.fstat(self._file).st_size != self.size_bytes:
                return None
            with self._record.open("rb") as file:
                raw = msgspec.json.decode(file.read(_MAX_RECORD_BYTES), type=_Record)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        parts = [Part(*numbers) for numbers in raw.parts]
        return parts if raw.size == self.size_bytes and _covers(parts, raw.size) else None

    @property
    def done_bytes(self) -> int:
        """How many bytes are there."""
        return sum(part.done for part in self.parts)

    def write(self, part: Part, data: bytes | bytearray) -> None:
        """Take the next bytes of a part.

        Raises:
            StoreFailed: Disk full …
        """
        assert self._file is not None
        assert len(data) <= part.missing
        with failures("write a blob"):
            rest = memoryview(data)
            while rest:
                written = os.pwrite(self._file, rest, part.at)
                part.done += written
                rest = rest[written:]
        with self._lock:
            self._unsaved_bytes += len(data)
            if self._unsaved_bytes >= self._save_bytes or not part.missing:
                self._save()
            self._unsynced_bytes += len(data)
            due = self._unsynced_bytes >= _SYNC_BYTES
            if due:
                self._unsynced_bytes = 0
        if due:  # while others still write, so that `publish` finds little left to sync
            with failures("write a blob"):
                os.fdatasync(self._file)

    def save(self) -> None:
        """Write down how far the parts are.

        Raises:
            StoreFailed: Disk full …
        """
        with self._lock:
            self._save()

    def _save(self) -> None:
        parts = [(part.start, part.stop, part.done) for part in self.parts]
        temporary = temporary_beside(self._record)
        with failures("write the state of a download"):
            temporary.write_bytes(msgspec.json.encode(_Record(self.size_bytes, parts)))
            temporary.replace(self._record)
        self._unsaved_bytes = 0

    def restart(self, part_bytes: int) -> None:
        """Forget what is there and begin again, in parts of another size."""
        self.parts = split(self.size_bytes, part_bytes)
        self._hash, self._hashed_bytes = hashlib.sha256(), 0
        self.save()

    @property
    def unhashed_bytes(self) -> int:
        """How many bytes lie without a gap behind those that were hashed."""
        front = 0
        for part in self.parts:
            front += part.done
            if part.missing:
                break
        return front - self._hashed_bytes

    def hash_ahead(self, limit_bytes: int) -> None:
        """Hash what lies without a gap from the beginning, so that `publish` need not.

        Reads at most `limit_bytes`, from the file and not from what was written: what is checked
        is what will be there.

        Raises:
            StoreFailed: The disk cannot be read.
        """
        assert self._file is not None
        stop = self._hashed_bytes + min(limit_bytes, self.unhashed_bytes)
        buffer = memoryview(bytearray(_BLOCK_BYTES))
        with failures("read a blob"):
            while self._hashed_bytes < stop:
                wanted = buffer[: stop - self._hashed_bytes]
                count = os.preadv(self._file, [wanted], self._hashed_bytes)
                if not count:
                    break  # somebody cut the file short: it will not be the blob
                self._hash.update(wanted[:count])
                self._hashed_bytes += count

    def publish(self) -> None:
        """Check the whole and make it a blob; after that a power cut cannot undo it.

        Raises:
            Failed: The bytes hash to another digest; they are thrown away.
            StoreFailed: Disk full …
        """
        assert self._file is not None
        assert not any(part.missing for part in self.parts)
        self.hash_ahead(self.size_bytes)
        got = Digest(self._hash.hexdigest())
        if got != self._digest:
            self.discard()
            raise Failed(
                f"digest mismatch, file must be downloaded again: want {self._digest}, got {got}"
            )
        with failures("write a blob"):
            os.fsync(self._file)
            self._path.replace(self._layout.blob(self._digest))
            sync_folder(self._path.parent)
            self._record.unlink(missing_ok=True)
        self._let_go()

    def discard(self) -> None:
        """Remove what was fetched, for good."""
        if self._file is not None:
            for path in (self._path, self._record):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            self._let_go()

    def close(self) -> None:
        """Leave the parts for a later try. Safe to repeat."""
        if self._file is not None:
            with suppress(StoreFailed):
                self.save()
            self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def split(size_bytes: int, part_bytes: int) -> list[Part]:
    """Parts of equal size that cover a blob; none for an empty one, at most `MAX_PARTS`."""
    step = max(part_bytes, -(-size_bytes // MAX_PARTS), 1)
    return [Part(at, min(at + step, size_bytes)) for at in range(0, size_bytes, step)]


def _covers(parts: Sequence[Part], size_bytes: int) -> bool:
    """Whether the parts lie one after the other from 0 to the end, each with sane counts."""
    at = 0
    for part in parts:
        if part.start != at or part.stop <= part.start or not 0 <= part.done <= part.stop - at:
            return False
        at = part.stop
    return at == size_bytes
