"""An utterance ends: its length is bounded, and silence at its end is cut."""

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from ollama_tts.backends.chattts.length import most_steps
from ollama_tts.backends.chattts.silence import TrailingSilence

RATE_HZ = 1000


def test_the_bound_grows_with_the_text() -> None:
    assert most_steps(-1, 2, 512) * 512 / 24_000 <= 10
    assert most_steps(-1, 2, 512) < most_steps(-2, 3, 512) < most_steps(-1, 100, 512)
    assert most_steps(77, 2, 512) == 77


def trimmed(pieces: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    silence = TrailingSilence(RATE_HZ)
    return np.concatenate([silence.feed(p) for p in pieces])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 900)), max_size=8), st.integers(1, 400))
def test_only_long_silence_at_the_end_is_cut(runs: list[tuple[bool, int]], size: int) -> None:
    sound = np.concatenate(
        [np.full(length, 0.5 if loud else 0.0009, np.float32) for loud, length in runs]
        or [np.empty(0, np.float32)]
    )
    made = trimmed([sound[i : i + size] for i in range(0, len(sound), size)] or [sound])
    loud = np.flatnonzero(np.abs(sound) > 1e-3)
    end = int(loud[-1]) + 1 if len(loud) else 0
    np.testing.assert_array_equal(made, sound[: min(len(sound), end + RATE_HZ // 2)])
