"""`SoundCache`: memory before disk, as one cache."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.memory import MemoryCache
from ollama_tts.cache.sound import Extent, Sound

T = TypeVar("T")

UNWRITTEN_BYTES = 64 * 1024 * 1024
"""So much may wait for a slow disk; what comes then stays in memory alone."""


class SoundCache:
    """Looks in memory, then on disk; what was found on disk is in memory afterwards.

    The disk is only touched in one thread of its own, so no request waits for another's file.
    Without a disk `disk_extent` and its budget are None.
    """

    def __init__(self, memory: MemoryCache, disk: DiskCache | None = None) -> None:
        self._memory = memory
        self._disk = disk
        self._thread = ThreadPoolExecutor(1, "cache") if disk is not None else None
        self._unwritten_bytes = 0
        self._cleared = 0
        self.memory_budget_bytes = memory.budget_bytes
        self.disk_budget_bytes = disk.budget_bytes if disk is not None else None

    @property
    def size_bytes(self) -> int:
        """Bytes of sound in memory."""
        return self._memory.size_bytes

    @property
    def memory_extent(self) -> Extent:
        """What is kept in memory."""
        return self._memory.extent

    async def disk_extent(self) -> Extent | None:
        """What is kept on disk."""
        if self._disk is None:
            return None
        disk = self._disk
        return await self._on_disk(lambda: disk.extent)

    async def get(self, key: str) -> Sound | None:
        """The sound of this key, or None."""
        sound = self._memory.get(key)
        if sound is None and self._disk is not None:
            cleared, disk = self._cleared, self._disk
            sound = await self._on_disk(lambda: disk.get(key))
            if sound is not None and cleared == self._cleared:
                self._memory.put(key, sound)
        return sound

    def put(self, key: str, sound: Sound) -> None:
        """Keep a sound; the disk follows in its own time."""
        self._memory.put(key, sound)
        if self._disk is None or self._thread is None:
            return
        if self._unwritten_bytes + sound.size_bytes > UNWRITTEN_BYTES:
            return
        self._unwritten_bytes += sound.size_bytes
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._disk.put, key, sound)
        work.add_done_callback(lambda _: self._written(sound.size_bytes))

    def _written(self, size_bytes: int) -> None:
        self._unwritten_bytes -= size_bytes

    async def clear(self, model: str | None = None) -> tuple[Extent, Extent]:
        """Forget all sounds, or those of a model (its digest in hex).

        Returns what that freed in memory and on disk.
        """
        self._cleared += 1
        freed = self._memory.clear(model)
        if self._disk is None:
            return freed, Extent()
        disk = self._disk
        return freed, await self._on_disk(lambda: disk.clear(model))

    async def aclose(self) -> None:
        """Finish writing, close the disk's index."""
        if self._thread is not None and self._disk is not None:
            await self._on_disk(self._disk.close)
            self._thread.shutdown()

    async def _on_disk(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
