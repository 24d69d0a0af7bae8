"""`SoundCache`: memory before disk, as one cache."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.memory import MemoryCache
from ollama_tts.cache.sound import Sound

T = TypeVar("T")


class SoundCache:
    """Looks in memory, then on disk; what was found on disk is in memory afterwards.

    The disk is only touched in one thread of its own, so no request waits for another's file.
    """

    def __init__(self, memory: MemoryCache, disk: DiskCache | None = None) -> None:
        self._memory = memory
        self._disk = disk
        self._thread = ThreadPoolExecutor(1, "cache") if disk is not None else None

    @property
    def size_bytes(self) -> int:
        """Bytes of sound in memory."""
        return self._memory.size_bytes

    async def get(self, key: str) -> Sound | None:
        """The sound of this key, or None."""
        sound = self._memory.get(key)
        if sound is None and self._disk is not None:
            sound = await self._on_disk(self._disk.get, key)
            if sound is not None:
                self._memory.put(key, sound)
        return sound

    def put(self, key: str, sound: Sound) -> None:
        """Keep a sound; the disk follows in its own time."""
        self._memory.put(key, sound)
        if self._disk is not None and self._thread is not None:
            self._thread.submit(self._disk.put, key, sound)

    async def clear(self) -> int:
        """Forget everything. Returns how many sounds there were."""
        count = self._memory.clear()
        if self._disk is not None:
            count = max(count, await self._on_disk(self._disk.clear))
        return count

    async def aclose(self) -> None:
        """Finish writing, close the disk's index."""
        if self._thread is not None and self._disk is not None:
            await self._on_disk(self._disk.close)
            self._thread.shutdown()

    async def _on_disk(self, work: Callable[..., T], *arguments: str) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
