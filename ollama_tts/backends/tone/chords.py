"""How tone writes text as sound: one chord a character, decodable by ear of a program.

A character's code point (21 bits) is cut into four digits, 6 + 5 + 5 + 5 bits. Each digit has a
band of its own between 440 Hz and 7.6 kHz, and its value picks one of the band's pitches, 40 Hz
apart. The four sines sound together for 40 ms; the last 6 ms of those are silent and part it
from the next character. All pitches lie under half of 16 kHz, so any usual rate keeps them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE_HZ = 24_000
CHARACTER_S = 0.040
GAP_S = 0.006
SPACING_HZ = 40.0
BANDS: tuple[tuple[float, int], ...] = ((440.0, 64), (3_240.0, 32), (4_760.0, 32), (6_280.0, 32))
"""Lowest pitch [Hz] and number of pitches, from the highest digit of the code point down."""

_LEVEL = 0.09
_FADE_S = 0.002


def pitches_hz(char: str) -> tuple[float, ...]:
    """The four pitches of a character, lowest band first."""
    rest = ord(char)
    digits: list[int] = []
    for _, values in reversed(BANDS):
        rest, digit = divmod(rest, values)
        digits.append(digit)
    return tuple(
        lowest + SPACING_HZ * digit
        for (lowest, _), digit in zip(BANDS, reversed(digits), strict=True)
    )


def character(pitches: Sequence[float]) -> str | None:
    """The character of four pitches [Hz], None where there is none."""
    code = 0
    for (lowest, values), pitch in zip(BANDS, pitches, strict=True):
        code = code * values + round((pitch - lowest) / SPACING_HZ)
    return chr(code) if code <= 0x10FFFF else None


def chord(char: str, speed: float = 1.0) -> NDArray[np.float32]:
    """The sound of one character, float32 [960 / speed] at 24 kHz, peak under 0.4."""
    total = round(CHARACTER_S / speed * SAMPLE_RATE_HZ)
    sounding = total - round(GAP_S / speed * SAMPLE_RATE_HZ)
    time_s = np.arange(sounding) / SAMPLE_RATE_HZ
    tones = np.sin(2 * np.pi * np.outer(pitches_hz(char), time_s)).sum(axis=0) * _LEVEL
    fade = np.clip(np.arange(1, sounding + 1) / (_FADE_S * SAMPLE_RATE_HZ), 0, 1)
    samples = np.zeros(total, np.float32)
    samples[:sounding] = tones * fade * fade[::-1]
    return samples
