from pathlib import Path

import numpy as np

from ollama_tts.cache import Extent, Sound, SoundCache, sound_key
from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.memory import MemoryCache


def sound(samples: int) -> Sound:
    return Sound(np.ones(samples, np.float32), 1)


async def test_what_memory_lost_the_disk_still_has(tmp_path: Path) -> None:
    cache = SoundCache(MemoryCache(400), DiskCache(tmp_path, 10_000))
    for number in range(3):
        cache.put(f"{number:064x}", sound(100))
    assert cache.size_bytes == 400
    for number in range(3):
        kept = await cache.get(f"{number:064x}")
        assert kept is not None
        assert len(kept.samples) == 100
    assert await cache.clear() == (Extent(1, 400), Extent(3, 3 * 520))
    assert await cache.get(f"{0:064x}") is None
    await cache.aclose()


async def test_memory_alone_is_a_cache() -> None:
    cache = SoundCache(MemoryCache(400))
    cache.put("a", sound(10))
    assert await cache.get("a") is not None
    assert await cache.clear() == (Extent(1, 40), Extent())
    await cache.aclose()


def test_every_setting_is_in_the_key() -> None:
    base = {"model": "m", "text": "t", "seed": 1}
    keys = {sound_key(base)}
    for name in base:
        keys.add(sound_key({**base, name: "other"}))
    assert len(keys) == 4
    assert sound_key(dict(reversed(base.items()))) in keys
