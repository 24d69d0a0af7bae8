import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from ollama_tts.audio.limit import CEILING, KNEE, soft_limit
from ollama_tts.audio.pcm import to_int16
from tests.support.sounds import CUTS, Sound, buzz, pieces

ANY = arrays.arrays(np.float32, st.integers(0, 200), elements=st.floats(width=32))


def test_what_is_not_loud_passes_unchanged() -> None:
    sound = buzz(0.2, 24_000)
    sound = sound[np.abs(sound) <= KNEE]
    assert soft_limit(sound) is sound


@given(sound=ANY)
def test_nothing_is_above_the_ceiling_and_signs_stay(sound: Sound) -> None:
    limited = soft_limit(sound)
    known = ~np.isnan(sound)
    assert np.all(np.abs(limited[known]) <= np.float32(CEILING))
    assert np.array_equal(np.signbit(limited[known]), np.signbit(sound[known]))
    assert np.array_equal(np.isnan(limited), ~known)
    assert np.all(to_int16(limited)[known & (sound > 0)] >= 0)


def test_louder_stays_louder_without_a_corner() -> None:
    rising = np.linspace(0, 16, 100_001, dtype=np.float32)
    steps = np.diff(soft_limit(rising).astype(np.float64))
    assert steps.min() >= 0
    assert np.abs(np.diff(steps)).max() < 1e-6
    assert np.array_equal(soft_limit(-rising), -soft_limit(rising))


@given(cuts=CUTS)
def test_however_it_is_cut_the_result_is_the_same(cuts: list[int]) -> None:
    sound = 3 * buzz(0.5, 24_000)
    parts = [soft_limit(part) for part in pieces(sound, cuts)]
    assert np.array_equal(np.concatenate(parts), soft_limit(sound))
