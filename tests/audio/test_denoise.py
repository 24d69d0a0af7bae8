import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ollama_tts.audio.denoise import Denoiser
from tests.support.sounds import CUTS, Sound, pieces

RATE_HZ = 24_000


def denoise(parts: list[Sound], rate_hz: int = RATE_HZ) -> Sound:
    denoiser = Denoiser(rate_hz)
    return np.concatenate([*(denoiser.feed(part) for part in parts), denoiser.finish()])


def syllables(seconds: float) -> Sound:
    """A voice-like sound: a buzz that comes and goes four times a second, and glides."""
    time_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    phase = 2 * np.pi * (150 * time_s + 10 * np.sin(2 * np.pi * time_s))
    buzz = sum(np.sin(n * phase) / n for n in range(1, 9))
    shape = np.maximum(0, np.sin(2 * np.pi * 4 * time_s))
    voice: Sound = np.asarray(0.2 * shape * buzz, np.float32)
    return voice


def hiss(count: int, level: float) -> Sound:
    return (level * np.random.default_rng(3).standard_normal(count)).astype(np.float32)


def power_db(sound: Sound) -> float:
    return float(10 * np.log10(np.mean(np.square(sound, dtype=np.float64)) + 1e-20))


@settings(max_examples=60, deadline=None)
@given(cuts=CUTS, count=st.integers(0, 12_000), rate_hz=st.sampled_from([8000, 22_050, 24_000]))
def test_however_it_is_cut_the_result_is_that_of_the_whole(
    cuts: list[int], count: int, rate_hz: int
) -> None:
    sound = (syllables(0.5) + hiss(12_000, 0.01))[:count]
    whole = denoise([sound], rate_hz)
    assert np.array_equal(denoise(pieces(sound, cuts), rate_hz), whole)
    assert whole.shape == sound.shape
    assert whole.dtype == np.float32


@pytest.mark.parametrize("level", [0.01, 0.05])
def test_noise_goes_and_the_voice_stays(level: float) -> None:
    voice = syllables(4.0)
    noise = hiss(len(voice), level)
    clean = denoise([voice + noise])
    assert power_db(clean - voice) < power_db(noise) - (3 if level > 0.02 else 0)
    quiet = np.abs(voice) == 0
    assert power_db(clean[quiet]) < power_db(noise[quiet]) - 4
    assert power_db(clean) == pytest.approx(power_db(voice), abs=1)


def test_a_clean_voice_is_hardly_touched_and_silence_stays() -> None:
    voice = syllables(2.0)
    assert power_db(denoise([voice]) - voice) < power_db(voice) - 15
    assert not denoise([np.zeros(5000, np.float32)]).any()
    assert len(denoise([])) == 0
