"""Faster or slower at the same pitch: WSOLA, waveform similarity overlap-add, as a stream.

After Verhelst and Roelands, "An overlap-add technique based on waveform similarity (WSOLA) for
high quality time-scale modification of speech", ICASSP 1993.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ollama_tts.errors import InvalidOption

SLOWEST: Final = 0.25
FASTEST: Final = 4.0

_HOP_MS = 15  # each output hop fades from the last segment's continuation into the next segment
_REACH_MS = 10  # how far from its exact place a segment may be taken: a period of the lowest voice
_FAINT = 1e-9  # energy below which there is no waveform to be similar to


class TimeStretch:
    """Plays sound `rate` times as fast.

    In whatever pieces the sound comes, the result is bit for bit that of the whole sound, and
    round(N / rate) samples long. Rate 1 passes it through untouched.
    """

    def __init__(self, rate: float, sample_rate_hz: int) -> None:
        if not SLOWEST <= rate <= FASTEST:
            raise InvalidOption(f"speed must be from {SLOWEST:g} to {FASTEST:g}, not {rate:g}")
        self._rate = rate
        self._hop = sample_rate_hz * _HOP_MS // 1000
        self._reach = sample_rate_hz * _REACH_MS // 1000
        fade_in = 0.5 - 0.5 * np.cos(np.pi * (np.arange(self._hop) + 0.5) / self._hop)
        self._fade_in = fade_in.astype(np.float32)
        self._input = np.zeros(0, np.float32)
        self._dropped = 0  # samples of input before `_input`
        self._hops = 0
        self._tail = np.zeros(0, np.float32)  # how the last segment goes on, float32 [hop]

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take float32 [N]; give what is final now, float32 [M]. It looks 40 ms ahead."""
        if self._rate == 1.0:
            return samples
        self._input = np.concatenate((self._input, samples))
        return self._stretch()

    def finish(self) -> NDArray[np.float32]:
        """The rest, float32 [M], once."""
        if self._rate == 1.0:
            return np.zeros(0, np.float32)
        total = round((self._dropped + len(self._input)) / self._rate)
        missing = total - self._hops * self._hop
        beyond = self._needed(total // self._hop) - self._dropped - len(self._input)
        self._input = np.concatenate((self._input, np.zeros(max(0, beyond), np.float32)))
        rest = self._stretch()[:missing]
        self._input = np.zeros(0, np.float32)
        return rest

    def _stretch(self) -> NDArray[np.float32]:
        made = []
        while self._needed(self._hops) <= self._dropped + len(self._input):
            made.append(self._next_hop())
        first = self._place(self._hops) - self._reach - self._dropped
        if first > 0:
            self._dropped += min(first, len(self._input))
            self._input = self._input[first:]
        return np.concatenate(made) if made else np.zeros(0, np.float32)

    def _place(self, hop: int) -> int:
        """Where in the input the segment for an output hop begins, exactly."""
        return round(hop * self._hop * self._rate)

    def _needed(self, hop: int) -> int:
        """Samples of input that an output hop depends on, and that are long enough for it."""
        return max(self._place(hop) + self._reach + 2 * self._hop, self._place(hop + 1))

    def _next_hop(self) -> NDArray[np.float32]:
        place = self._place(self._hops) - self._dropped
        start = self._similar(place) if self._hops else place
        segment = self._input[start : start + self._hop]
        made = segment if self._hops == 0 else self._tail + (segment - self._tail) * self._fade_in
        self._tail = self._input[start + self._hop : start + 2 * self._hop]
        self._hops += 1
        return made

    def _similar(self, place: int) -> int:
        """The start near `place` whose `hop` samples are most like the tail."""
        if np.dot(self._tail, self._tail) < _FAINT * self._hop:
            return place
        first = max(0, place - self._reach)
        region = self._input[first : place + self._reach + self._hop]
        energy = np.cumsum(np.square(region, dtype=np.float64))
        energy = energy[self._hop - 1 :] - np.concatenate(([0.0], energy[: -self._hop]))
        likeness = np.correlate(region, self._tail) / np.sqrt(energy + _FAINT)
        return first + int(np.argmax(likeness))
