"""Hears what the voice `tone` said: samples in, text out. Whose audio is this? Ask here."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.tone.chords import BANDS, CHARACTER_S, GAP_S, SPACING_HZ, character

_SHORTEST_S = (CHARACTER_S - GAP_S) / 2.5  # of one sounding character, at the highest speed
_SPECTRUM = 16_384  # points; finer than the pitches are apart at any rate
_SILENCE_S = 0.0012  # a longer dip under the threshold parts two characters


def listen(samples: NDArray[np.floating], sample_rate_hz: int) -> str:
    """The text spoken in float samples [N] at 16 kHz or more, at any gain and speed.

    Pauses between utterances are passed over.

    Raises:
        AssertionError: A stretch of sound is no character of `tone`.
    """
    sound = np.asarray(samples, np.float64)
    return "".join(
        _hear(sound[start:end], sample_rate_hz) for start, end in _stretches(sound, sample_rate_hz)
    )


def listen_s16(pcm: bytes, sample_rate_hz: int) -> str:
    """`listen` for raw signed 16-bit little-endian samples."""
    return listen(np.frombuffer(pcm, "<i2").astype(np.float64) / 32768, sample_rate_hz)


def _stretches(sound: NDArray[np.float64], sample_rate_hz: int) -> Iterator[tuple[int, int]]:
    """Start and end of everything between two silences."""
    if not len(sound):
        return
    loud = np.flatnonzero(np.abs(sound) > 0.06 * np.abs(sound).max())
    if not len(loud):
        return
    cuts = np.flatnonzero(np.diff(loud) > _SILENCE_S * sample_rate_hz)
    starts = loud[np.concatenate(([0], cuts + 1))]
    ends = loud[np.concatenate((cuts, [len(loud) - 1]))] + 1
    for start, end in zip(starts, ends, strict=True):
        if end - start >= _SHORTEST_S * sample_rate_hz:
            yield int(start), int(end)


def _hear(stretch: NDArray[np.float64], sample_rate_hz: int) -> str:
    spectrum = np.abs(np.fft.rfft(stretch * np.hanning(len(stretch)), _SPECTRUM))
    pitches = []
    for lowest_hz, values in BANDS:
        band_hz = lowest_hz + SPACING_HZ * np.arange(values)
        strength = spectrum[np.rint(band_hz * _SPECTRUM / sample_rate_hz).astype(int)]
        pitches.append(float(band_hz[int(strength.argmax())]))
    char = character(pitches)
    assert char is not None, f"no character sounds like {pitches} Hz"
    return char
