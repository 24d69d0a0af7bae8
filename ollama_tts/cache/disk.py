"""`DiskCache`: sounds as files named by their key, with a sqlite index of sizes and last use.

A file is written under another name, synced, renamed, and only then indexed: whatever a crash
leaves is either whole and indexed, or nobody's and removed at the next start. Each file ends in
the sha256 of what stands before it, so a damaged one is never played.
"""

import contextlib
import hashlib
import logging
import os
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ollama_tts.cache.sound import Sound

log = logging.getLogger(__name__)

_HEADER = struct.Struct("<8sqq")  # magic, steps, samples
_MAGIC = b"otts-snd"
_DIGEST_BYTES = 32


class DiskCache:
    """Sounds in a folder, never more than `budget_bytes` of files together. Not thread-safe."""

    def __init__(self, folder: Path, budget_bytes: int, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._budget_bytes = budget_bytes
        self._clock = clock
        folder.mkdir(parents=True, exist_ok=True)
        self._index = self._open_index()
        self._sweep()

    @property
    def size_bytes(self) -> int:
        """Bytes of all files in the index."""
        row = self._index.execute("SELECT COALESCE(SUM(size), 0) FROM sounds").fetchone()
        return int(row[0])

    def get(self, key: str) -> Sound | None:
        """The sound of this key; None where there is none, or only a damaged one."""
        try:
            data = self._path(key).read_bytes()
        except OSError:
            self._forget(key)
            return None
        sound = _decode(data)
        if sound is None:
            log.warning("a damaged sound was dropped from the cache")
            self._forget(key)
            return None
        with self._index:
            self._index.execute("UPDATE sounds SET used = ? WHERE key = ?", (self._clock(), key))
        return sound

    def put(self, key: str, sound: Sound) -> None:
        """Keep a sound. A full or read-only disk is logged, and nothing is kept."""
        data = _encode(sound)
        if len(data) > self._budget_bytes:
            return
        try:
            self._write(self._path(key), data)
        except OSError as error:
            log.warning("the cache could not write: %s", error.strerror)
            return
        with self._index:
            self._index.execute(
                "INSERT OR REPLACE INTO sounds VALUES (?, ?, ?)", (key, len(data), self._clock())
            )
        self._shrink()

    def clear(self) -> int:
        """Remove all. Returns how many there were."""
        keys = [row[0] for row in self._index.execute("SELECT key FROM sounds")]
        for key in keys:
            self._forget(key)
        return len(keys)

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def _open_index(self) -> sqlite3.Connection:
        path = self._folder / "index.sqlite3"
        try:
            return _connect(path)
        except sqlite3.DatabaseError:
            log.warning("the index of the cache was damaged and starts anew")
            path.unlink(missing_ok=True)
            return _connect(path)

    def _sweep(self) -> None:
        """Remove files that the index does not know, and rows whose files are gone."""
        known = {row[0] for row in self._index.execute("SELECT key FROM sounds")}
        found = set()
        for path in self._folder.glob("??/*"):
            if path.name in known:
                found.add(path.name)
            else:
                path.unlink(missing_ok=True)
        with self._index:
            self._index.executemany(
                "DELETE FROM sounds WHERE key = ?", [(key,) for key in known - found]
            )
        self._shrink()

    def _shrink(self) -> None:
        excess = self.size_bytes - self._budget_bytes
        rows = (
            self._index.execute("SELECT key, size FROM sounds ORDER BY used") if excess > 0 else ()
        )
        for key, size in list(rows):
            if excess <= 0:
                break
            self._forget(key)
            excess -= size

    def _forget(self, key: str) -> None:
        with self._index:
            self._index.execute("DELETE FROM sounds WHERE key = ?", (key,))
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_suffix(".new")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def _connect(path: Path) -> sqlite3.Connection:
    index = sqlite3.connect(path, check_same_thread=False)
    index.execute("PRAGMA journal_mode = WAL")
    index.execute("PRAGMA synchronous = NORMAL")
    index.execute(
        "CREATE TABLE IF NOT EXISTS sounds"
        " (key TEXT PRIMARY KEY, size INTEGER NOT NULL, used REAL NOT NULL)"
    )
    index.execute("SELECT COUNT(*) FROM sounds").fetchone()
    return index


def _encode(sound: Sound) -> bytes:
    samples = np.ascontiguousarray(sound.samples, "<f4")
    body = _HEADER.pack(_MAGIC, sound.steps, len(samples)) + samples.tobytes()
    return body + hashlib.sha256(body).digest()


def _decode(data: bytes) -> Sound | None:
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if len(body) < _HEADER.size or hashlib.sha256(body).digest() != digest:
        return None
    magic, steps, count = _HEADER.unpack_from(body)
    if magic != _MAGIC or len(body) != _HEADER.size + 4 * count:
        return None
    return Sound(np.frombuffer(body, "<f4", offset=_HEADER.size), steps)
