"""`DiskCache`: sounds as files named by their key, with an index of sizes and last use.

A file is written under another name, synced, renamed, and then indexed, all under the index's
write lock: whatever a crash leaves is whole and taken in at the next start, or removed there.
Reading needs no index; a file that is damaged or another's is never played. Where the disk is
full, read-only or broken, nothing is kept, one line is logged, and nobody is harmed.
"""

import contextlib
import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ollama_tts.cache import entry
from ollama_tts.cache.index import Index, remove_index
from ollama_tts.cache.sound import Extent, Sound

log = logging.getLogger(__name__)

_MOST_HEARD = 256
"""So many uses are remembered until the index is written anyway."""


class DiskCache:
    """Sounds in a folder, never more than `budget_bytes` of files together. Not thread-safe.

    Other processes may use the same folder, with the same budget.

    Raises:
        OSError: There is no such folder, and none can be made.
    """

    def __init__(self, folder: Path, budget_bytes: int) -> None:
        self._folder = folder
        self.budget_bytes = budget_bytes
        self._heard: dict[str, None] = {}
        self._troubled = False
        self._index: Index | None = None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._bearing_with():
            self._indexed()

    @property
    def extent(self) -> Extent:
        """What is kept; nothing where the index cannot be read."""
        extent = Extent()
        with self._bearing_with():
            extent = self._indexed().extent
        return extent  # noqa: RET504  # where the index fails, the block ends early

    @property
    def size_bytes(self) -> int:
        """Bytes of all files in the index."""
        return self.extent.size_bytes

    def get(self, key: str) -> Sound | None:
        """The sound of this key; None where there is none, or only a damaged one."""
        try:
            data = entry.read(self._path(key), self.budget_bytes + 1)
        except OSError:
            data = b""
        if data is None:
            return None
        sound = entry.decode(key, data)
        if sound is None:
            log.warning("a damaged or foreign sound was dropped from the cache")
            with self._bearing_with(), self._writing() as index:
                self._forget(index, key)
            return None
        self._heard.pop(key, None)
        self._heard[key] = None
        if len(self._heard) >= _MOST_HEARD:
            self._note_heard()
        return sound

    def put(self, key: str, sound: Sound) -> None:
        """Keep a sound. A full or read-only disk is logged once, and nothing is kept."""
        data = entry.encode(key, sound)
        if len(data) > self.budget_bytes:
            return
        with self._bearing_with():
            with self._writing() as index:
                failure = self._place(index, key, sound.model, data)
            if failure is not None:
                raise failure
            self._troubled = False

    def clear(self, model: str | None = None) -> Extent:
        """Remove all sounds, or those of one model. Returns what that freed."""
        rows: dict[str, int] = {}
        with self._bearing_with(), self._writing() as index:
            rows = index.rows(model)
            for key in rows:
                self._forget(index, key)
        return Extent(len(rows), sum(rows.values()))

    def close(self) -> None:
        """Write down what was used, close the index."""
        if self._index is not None:
            self._note_heard()
            self._index.close()
            self._index = None

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key

    @contextlib.contextmanager
    def _bearing_with(self) -> Iterator[None]:
        """What goes wrong with the disk is logged, once until it is well again, and no more."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if not self._troubled:
                reason = error.strerror if isinstance(error, OSError) else error
                log.warning("the audio cache on disk could not write or be opened: %s", reason)
            self._troubled = True
            if isinstance(error, sqlite3.DatabaseError) and self._index is not None:
                self._index.close()
                self._index = None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Index]:
        index = self._indexed()
        with index.writing():
            yield index

    def _indexed(self) -> Index:
        """The index, opened anew where it is not open or not the folder's any more."""
        if self._index is not None and not self._index.stale:
            return self._index
        if self._index is not None:
            self._index.close()
            self._index = None
        with self._opening():
            index = self._open(self._folder / "index.sqlite3")
            try:
                with index.writing():
                    self._sweep(index)
            except BaseException:
                index.close()
                raise
        self._index = index
        return index

    @contextlib.contextmanager
    def _opening(self) -> Iterator[None]:
        """One process at a time may find that the index is damaged."""
        with (self._folder / "index.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _open(self, path: Path) -> Index:
        try:
            return Index(path)
        except sqlite3.OperationalError:
            raise  # locked, full, not writable: not the file's fault
        except sqlite3.DatabaseError:
            log.warning("the index of the audio cache was damaged and is made anew")
            remove_index(path)
            return Index(path)

    def _place(self, index: Index, key: str, model: str, data: bytes) -> OSError | None:
        """Put a file where it belongs; give what went wrong, so that the rest stays true."""
        path = self._path(key)
        index.touch(self._heard)
        self._heard.clear()
        if index.size_of(key) == len(data) == _length(path):
            index.touch([key])
            return None
        self._forget(index, key)
        self._shrink(index, self.budget_bytes - len(data))
        try:
            _write(path, data)
        except OSError as error:
            return error
        index.add(key, model, len(data))
        return None

    def _note_heard(self) -> None:
        with self._bearing_with():
            with self._writing() as index:
                index.touch(self._heard)
            self._heard.clear()

    def _sweep(self, index: Index) -> None:
        """Make index and folder agree: whole files are taken in, what else is ours is removed.

        Files that this cache cannot have written are left alone.
        """
        rows = index.rows()
        for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
            size = rows.pop(path.name, None)
            if entry.is_unfinished(path.name):
                path.unlink(missing_ok=True)
            elif entry.is_entry(path.name) and (size is None or size != _length(path)):
                index.remove(path.name)
                self._take_in(index, path)
        for key in rows:
            index.remove(key)
        self._shrink(index, self.budget_bytes)

    def _take_in(self, index: Index, path: Path) -> None:
        try:
            label = entry.read_label(entry.read(path, entry.LABEL_BYTES) or b"")
        except OSError:
            return
        if label is None or label.key != path.name or label.size_bytes != _length(path):
            path.unlink(missing_ok=True)
        else:
            index.add(label.key, label.model, label.size_bytes)

    def _shrink(self, index: Index, most_bytes: int) -> None:
        while index.extent.size_bytes > most_bytes:
            key = index.oldest()
            assert key is not None
            self._forget(index, key)

    def _forget(self, index: Index, key: str) -> None:
        index.remove(key)
        with contextlib.suppress(OSError):
            self._path(key).unlink()


def _length(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except OSError:
        return None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.new")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
