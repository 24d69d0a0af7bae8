"""Sounds to test with, and ways to cut them."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Sound = NDArray[np.float32]

CUTS = st.lists(st.integers(0, 30_000), max_size=12)
"""Where a sound is cut; places beyond its end are passed over, equal ones give empty pieces."""


def sine(
    seconds: float, sample_rate_hz: int, frequency_hz: float = 440.0, amplitude: float = 0.5
) -> Sound:
    """A sine, float32 [round(seconds * sample_rate_hz)]."""
    time_s = np.arange(round(seconds * sample_rate_hz)) / sample_rate_hz
    return (amplitude * np.sin(2 * np.pi * frequency_hz * time_s)).astype(np.float32)


def buzz(seconds: float, sample_rate_hz: int, seed: int = 0) -> Sound:
    """Something like a voice, at most 0.9: a gliding pulse train with noise, float32 [N]."""
    count = round(seconds * sample_rate_hz)
    time_s = np.arange(count) / sample_rate_hz
    phase = 2 * np.pi * (120 * time_s + 15 * np.sin(2 * np.pi * 0.7 * time_s))
    voiced = np.sum([np.sin(k * phase) / k for k in range(1, 9)], axis=0)
    noise = np.random.default_rng(seed).standard_normal(count)
    sound: Sound = np.clip(0.25 * voiced + 0.02 * noise, -0.9, 0.9).astype(np.float32)
    return sound


def pieces(samples: Sound, cuts: Sequence[int]) -> list[Sound]:
    """`samples` cut at all `cuts` that lie in it."""
    return np.split(samples, sorted(cut for cut in cuts if cut <= len(samples)))


def pitch_hz(samples: NDArray[np.floating], sample_rate_hz: int) -> float:
    """Frequency of the strongest partial, in Hz."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 8 * len(samples)))
    return float(np.argmax(spectrum) * sample_rate_hz / (8 * len(samples)))
