"""Utterances in order become one sound: pauses between them, fades at their edges, short tails."""

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Boundary = Literal["none", "clause", "sentence", "line", "paragraph"]

PAUSES_MS: Final[Mapping[Boundary, int]] = MappingProxyType(
    {"none": 0, "clause": 80, "sentence": 200, "line": 300, "paragraph": 450}
)
"""How long it is silent after each kind of boundary, the utterances' own edge silence included."""

FADE_MS: Final = 5.0
MAX_TAIL_MS: Final = 500.0
SILENCE: Final = 10 ** (-54 / 20)
"""Samples whose magnitude is below this count as silence (-54 dB of full scale)."""

_MAX_LEAD_MS = 200.0


def pause_ms(boundary: Boundary, sentence_ms: int | None = None) -> int:
    """The pause after a boundary. `sentence_ms`, the option `pause_ms`, scales all of them."""
    usual = PAUSES_MS[boundary]
    return usual if sentence_ms is None else round(usual * sentence_ms / PAUSES_MS["sentence"])


class Stitcher:
    """Joins the utterances of one answer. However their sound is cut, the result is the same.

    For each utterance: `begin`, `feed` as often as needed, `end`. What the calls give, in order,
    is the answer's sound, float32 at `sample_rate_hz`. Inside an utterance samples pass
    unchanged (but for `gain_db`); the first and last 5 ms are faded; silence at its end is cut
    to half a second. Nothing is ever scaled to fit: what is beyond full scale is clipped later.
    """

    def __init__(
        self,
        sample_rate_hz: int,
        *,
        gain_db: float = 0.0,
        fade_ms: float = FADE_MS,
        max_tail_ms: float = MAX_TAIL_MS,
    ) -> None:
        self._rate_hz = sample_rate_hz
        self._gain = np.float32(10 ** (gain_db / 20))
        self._fade = _ramp(self._samples(fade_ms))
        self._max_tail = self._samples(max_tail_ms)
        self._max_lead = self._samples(_MAX_LEAD_MS)
        self._gap = 0  # silence owed before the utterance's first loud sample
        self._trailing = 0  # silence at the end of what was given so far
        self._spoken = False
        self._start()

    def begin(self, pause_ms: float = 0.0) -> None:
        """Start the next utterance, `pause_ms` after the last one; without a last one, at once.

        The silence that both utterances have at their edges counts into the pause.
        """
        wanted = self._samples(pause_ms) if self._spoken else 0
        self._gap = max(0, wanted - self._trailing)
        self._start()

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take float32 [N] of the utterance; give what is final now, float32 [M]."""
        if len(samples) == 0:
            return _EMPTY
        self._held.append(self._fade_in(samples * self._gain))
        self._count += len(samples)
        self._measure(samples)
        if not self._sounded and self._silent < self._gap:
            return _EMPTY
        return _join([*self._take_gap(), *self._release(len(self._fade) + self._excess)])

    def end(self) -> NDArray[np.float32]:
        """End the utterance; give the rest of it, float32 [M]."""
        tail = self._count - self._given - self._excess
        last = _join(self._pop(tail))
        size = min(len(self._fade), len(last))
        if size:
            last = last.copy()
            last[len(last) - size :] *= self._fade[len(self._fade) - size :][::-1]
        gap = self._take_gap()
        self._finish_counts(sum(len(part) for part in gap))
        return _join([*gap, last])

    @property
    def _excess(self) -> int:
        return max(0, self._silent - self._max_tail)

    def _start(self) -> None:
        self._held: deque[NDArray[np.float32]] = deque()
        self._count = 0  # samples of this utterance so far
        self._given = 0  # of these, given
        self._silent = 0  # of these, silent at the end
        self._sounded = False

    def _finish_counts(self, gap: int) -> None:
        if self._sounded:
            self._trailing = self._silent - self._excess
        else:
            self._trailing += gap + self._silent - self._excess
        self._spoken = self._spoken or self._count > 0
        self._held.clear()

    def _measure(self, samples: NDArray[np.float32]) -> None:
        loud = np.flatnonzero(np.abs(samples) >= SILENCE)
        if len(loud) == 0:
            self._silent += len(samples)
            return
        if not self._sounded:
            self._gap = max(0, self._gap - self._silent - int(loud[0]))
            self._sounded = True
        self._silent = len(samples) - 1 - int(loud[-1])

    def _fade_in(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        ramp = self._fade[self._count : self._count + len(samples)]
        samples[: len(ramp)] *= ramp
        return samples

    def _take_gap(self) -> list[NDArray[np.float32]]:
        owed = self._gap if self._sounded else max(0, self._gap - self._silent)
        self._gap = 0
        return [np.zeros(owed, np.float32)] if owed else []

    def _release(self, keep: int) -> list[NDArray[np.float32]]:
        return self._pop(max(0, self._count - self._given - keep))

    def _pop(self, wanted: int) -> list[NDArray[np.float32]]:
        parts = []
        self._given += wanted
        while wanted > 0:
            part = self._held.popleft()
            if len(part) > wanted:
                self._held.appendleft(part[wanted:])
                part = part[:wanted]
            wanted -= len(part)
            parts.append(part)
        return parts

    def _samples(self, ms: float) -> int:
        return round(ms * self._rate_hz / 1000)


_EMPTY = np.zeros(0, np.float32)


def _ramp(size: int) -> NDArray[np.float32]:
    """Half a raised cosine, float32 [size], from just above 0 to just below 1."""
    phase = (np.arange(size) + 0.5) / max(1, size)
    return (0.5 - 0.5 * np.cos(np.pi * phase)).astype(np.float32)


def _join(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else _EMPTY
