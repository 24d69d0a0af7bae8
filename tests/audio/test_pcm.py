import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ollama_tts.audio.pcm import Pcm, to_int16
from tests.support.sounds import Sound, sine

ANY_FLOATS = hnp.arrays(np.float32, st.integers(0, 50), elements=st.floats(width=32))


def test_duration_is_samples_over_rate() -> None:
    assert Pcm(np.zeros(12_000, np.float32), 24_000).duration_s == 0.5


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (0.0, 0), (0.5, 16384), (-0.5, -16384), (1.0, 32767), (-1.0, -32767), (1.2, 32767),
        (-1.2, -32768), (1e30, 32767), (np.inf, 32767), (-np.inf, -32768), (np.nan, 0),
    ],
)  # fmt: skip
def test_samples_are_rounded_and_saturate(sample: float, expected: int) -> None:
    assert to_int16(np.array([0.25, sample], np.float32)).tolist() == [8192, expected]


@given(ANY_FLOATS)
def test_no_sample_ever_changes_its_sign(samples: Sound) -> None:
    converted = to_int16(samples).astype(np.float64)
    assert np.all(converted * np.sign(np.nan_to_num(samples)) >= 0)


def test_a_sine_over_full_scale_has_no_jumps() -> None:
    samples = to_int16(sine(1.0, 24_000, amplitude=1.2)).astype(np.int32)
    assert samples.max() == 32767
    assert samples.min() == -32768
    assert np.abs(np.diff(samples)).max() < 6000


def test_the_input_is_left_alone() -> None:
    samples = sine(0.1, 8000, amplitude=2.0)
    before = samples.copy()
    to_int16(samples)
    assert np.array_equal(samples, before)
