import numpy as np
import pytest
import soxr
from hypothesis import given, settings, strategies as st

from ollama_tts.audio.resample import Resampler
from tests.support.sounds import CUTS, Sound, buzz, pieces, pitch_hz, sine

RATES_HZ = st.sampled_from([8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000])


def resample(parts: list[Sound], in_hz: int, out_hz: int) -> Sound:
    resampler = Resampler(in_hz, out_hz)
    return np.concatenate([*(resampler.feed(part) for part in parts), resampler.finish()])


@settings(max_examples=60, deadline=None)
@given(cuts=CUTS, in_hz=RATES_HZ, out_hz=RATES_HZ, count=st.integers(0, 20_000))
def test_however_it_is_cut_the_result_is_that_of_the_whole(
    cuts: list[int], in_hz: int, out_hz: int, count: int
) -> None:
    sound = buzz(1.0, 20_000)[:count]
    result = resample(pieces(sound, cuts), in_hz, out_hz)
    expected = sound if in_hz == out_hz else soxr.resample(sound, in_hz, out_hz)
    assert np.array_equal(result, expected)
    assert result.dtype == np.float32
    assert len(result) == (2 * count * out_hz + in_hz) // (2 * in_hz)


@pytest.mark.parametrize("out_hz", [8000, 8001, 22_050, 44_100, 48_000])
def test_pitch_and_loudness_are_kept(out_hz: int) -> None:
    result = resample([sine(1.0, 24_000, 440.0)], 24_000, out_hz)
    inner = result[out_hz // 10 : -out_hz // 10]
    assert pitch_hz(inner, out_hz) == pytest.approx(440.0, abs=0.5)
    assert np.abs(inner).max() == pytest.approx(0.5, abs=0.005)


def test_equal_rates_pass_the_very_samples() -> None:
    sound = sine(0.1, 24_000)
    resampler = Resampler(24_000, 24_000)
    assert resampler.feed(sound) is sound
    assert len(resampler.finish()) == 0


def test_sound_comes_out_early() -> None:
    resampler = Resampler(24_000, 48_000)
    given = sum(len(resampler.feed(part)) for part in np.split(sine(0.1, 24_000), 10))
    assert given >= 48_000 * 0.02


def test_finish_gives_the_rest_once() -> None:
    resampler = Resampler(24_000, 48_000)
    resampler.feed(sine(0.1, 24_000))
    assert len(resampler.finish()) > 0
    assert len(resampler.finish()) == 0
