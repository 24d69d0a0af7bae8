import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ollama_tts.audio.speed import TimeStretch
from ollama_tts.errors import InvalidOption
from tests.support.sounds import CUTS, Sound, buzz, pieces, pitch_hz, sine

RATES = st.one_of(st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0]), st.floats(0.25, 4.0))


def stretch(parts: list[Sound], rate: float, sample_rate_hz: int) -> Sound:
    stretcher = TimeStretch(rate, sample_rate_hz)
    return np.concatenate([*(stretcher.feed(part) for part in parts), stretcher.finish()])


@settings(max_examples=80, deadline=None)
@given(
    cuts=CUTS,
    rate=RATES,
    sample_rate_hz=st.sampled_from([8000, 22_050, 24_000]),
    count=st.integers(0, 24_000),
)
def test_however_it_is_cut_the_result_is_that_of_the_whole(
    cuts: list[int], rate: float, sample_rate_hz: int, count: int
) -> None:
    sound = buzz(1.0, 24_000)[:count]
    whole = stretch([sound], rate, sample_rate_hz)
    assert np.array_equal(stretch(pieces(sound, cuts), rate, sample_rate_hz), whole)
    assert len(whole) == round(count / rate)
    assert whole.dtype == np.float32


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.77, 0.9, 1.1, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("frequency_hz", [80.0, 220.0, 1000.0])
def test_pitch_and_loudness_are_kept(rate: float, frequency_hz: float) -> None:
    result = stretch([sine(2.0, 24_000, frequency_hz)], rate, 24_000)
    inner = result[1000:-1000]
    assert pitch_hz(inner, 24_000) == pytest.approx(frequency_hz, rel=0.01)
    assert np.sqrt(np.mean(inner**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.02)


@pytest.mark.parametrize("rate", [0.5, 0.8, 1.3, 2.0])
def test_there_are_no_clicks(rate: float) -> None:
    sound = sine(2.0, 24_000, 220.0)
    steepest = np.abs(np.diff(sound)).max()
    assert np.abs(np.diff(stretch([sound], rate, 24_000)[:-500])).max() < 1.1 * steepest


def test_events_keep_their_place_in_time() -> None:
    sound = np.zeros(48_000, np.float32)
    sound[24_000:36_000] = buzz(0.5, 24_000)
    loud = np.flatnonzero(np.abs(stretch([sound], 2.0, 24_000)) > 0.01)
    assert loud[0] == pytest.approx(12_000, abs=500)
    assert loud[-1] == pytest.approx(18_000, abs=500)


def test_silence_stays_silence() -> None:
    assert not stretch([np.zeros(24_000, np.float32)], 1.7, 24_000).any()


def test_rate_one_passes_the_very_samples() -> None:
    sound = sine(0.1, 24_000)
    stretcher = TimeStretch(1.0, 24_000)
    assert stretcher.feed(sound) is sound
    assert len(stretcher.finish()) == 0


def test_sound_comes_out_early() -> None:
    stretcher = TimeStretch(0.8, 24_000)
    given = sum(len(stretcher.feed(part)) for part in np.split(sine(0.1, 24_000), 10))
    assert given >= 24_000 * 0.05


@pytest.mark.parametrize("rate", [0.0, 0.24, 4.01, -1.0, float("nan"), float("inf")])
def test_other_rates_are_refused_by_name(rate: float) -> None:
    with pytest.raises(InvalidOption, match=r"speed must be from 0\.25 to 4, not"):
        TimeStretch(rate, 24_000)
