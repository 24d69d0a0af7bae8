"""`StoreLock`: one writer at a time, among threads and among processes.

Readers take no lock: manifests appear by rename and blobs never change.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ollama_tts.errors import StoreFailed
from ollama_tts.store.durable import failures


class StoreLock:
    """The lock of one models folder; not reentrant. `timeout_s`: how long to wait for others."""

    def __init__(self, path: Path, timeout_s: float = 60.0) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._threads = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            StoreFailed: Another process holds it too long, or the folder cannot be written.
        """
        if not self._threads.acquire(timeout=self._timeout_s):
            raise self._busy()
        try:
            lock = FileLock(self._path, timeout=self._timeout_s)
            with failures("lock the model store"):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._acquire(lock)
            try:
                yield
            finally:
                lock.release()
        finally:
            self._threads.release()

    def _acquire(self, lock: FileLock) -> None:
        try:
            lock.acquire()
        except Timeout as error:
            raise self._busy() from error

    def _busy(self) -> StoreFailed:
        return StoreFailed(
            f"the model store is busy: another writer held its lock for {self._timeout_s:g} s"
        )
