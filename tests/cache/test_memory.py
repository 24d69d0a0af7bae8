import numpy as np
from hypothesis import given, strategies as st

from ollama_tts.cache.memory import MemoryCache
from ollama_tts.cache.sound import Extent, Sound


def sound(samples: int) -> Sound:
    return Sound(np.zeros(samples, np.float32), 1)


def test_the_least_recently_heard_goes_first() -> None:
    cache = MemoryCache(12 * 4)
    for key in "abc":
        cache.put(key, sound(4))
    assert cache.get("a") is not None
    cache.put("d", sound(4))
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert cache.get("d") is not None


def test_what_is_larger_than_the_budget_is_not_kept_and_evicts_nothing() -> None:
    cache = MemoryCache(40)
    cache.put("a", sound(5))
    cache.put("b", sound(11))
    assert cache.get("b") is None
    assert cache.get("a") is not None


def test_clear_counts_what_it_forgets() -> None:
    cache = MemoryCache(1000)
    cache.put("a", sound(5))
    assert cache.clear() == Extent(1, 20)
    assert cache.size_bytes == 0
    assert cache.get("a") is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 40)), max_size=60))
def test_it_never_holds_more_than_its_budget_and_counts_right(puts: list[tuple[str, int]]) -> None:
    cache = MemoryCache(100)
    for key, size in puts:
        cache.put(key, sound(size))
        assert cache.size_bytes <= 100
        held = [cache.get(name) for name in "abcdef"]
        assert cache.size_bytes == sum(item.size_bytes for item in held if item is not None)
