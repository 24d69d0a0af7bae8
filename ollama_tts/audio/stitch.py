"""Utterances in order become one sound: pauses between them, their own edge silence trimmed, fades.

Voices put silence of their own around an utterance, up to 0.7 s in all (hibari) or ten seconds
(a model that misses its end). What counts as silence is cut to a short lead and a short tail, so
that the pause between two utterances is the one that was asked for, whatever the voice.
"""

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Boundary = Literal["none", "clause", "sentence", "line", "paragraph"]

PAUSES_MS: Final[Mapping[Boundary, int]] = MappingProxyType(
    {"none": 0, "clause": 150, "sentence": 350, "line": 450, "paragraph": 700}
)
"""Silence from the last loud sample before a boundary to the first one after it."""

SILENCE: Final = 0.001
"""Samples of smaller magnitude (-60 dB of full scale, before gain) count as silence."""

FADE_MS: Final = 5
LEAD_MS: Final = 40  # silence kept before an utterance's first loud sample
TAIL_MS: Final = 100  # silence kept after its last one
FIRST_LEAD_MS: Final = 100  # the same as LEAD_MS for the first utterance of an answer
SILENT_MS: Final = 500  # what is kept of an utterance without any loud sample

_NOTHING = np.zeros(0, np.float32)


def pause_ms(boundary: Boundary, sentence_ms: int | None = None) -> int:
    """The pause after a boundary. `sentence_ms`, the option `pause_ms`, scales all of them."""
    usual = PAUSES_MS[boundary]
    return usual if sentence_ms is None else round(usual * sentence_ms / PAUSES_MS["sentence"])


class Stitcher:
    """Joins the utterances of one answer. However their sound is cut, the result is the same.

    For each utterance: `begin`, `feed` as often as needed, `end`. What the calls give, in order,
    is the answer's sound, float32 at `sample_rate_hz`. From an utterance's first loud sample to
    its last one every sample passes unchanged, but for `gain_db` and fades of 5 ms at its very
    edges; pauses inside it are never shortened. Nothing is scaled to fit: what is beyond full
    scale is the limiter's business (`limit`).

    Sound is held back no longer than the fade (5 ms). Silence is held back until it is known
    whether sound follows.
    """

    def __init__(self, sample_rate_hz: int, *, gain_db: float = 0.0) -> None:
        self._rate_hz = sample_rate_hz
        self._gain = np.float32(10 ** (gain_db / 20))
        self._fade = _ramp(self._samples(FADE_MS))
        self._longest_lead = self._samples(LEAD_MS)
        self._longest_tail = self._samples(TAIL_MS)
        self._first = True  # nothing loud was given so far
        self._trailing = 0  # silent samples at the end of what was given
        self._carried = 0  # pause that an utterance without sound could not make
        self.begin()

    def begin(self, pause_ms: float = 0.0) -> None:
        """Start the next utterance, to sound `pause_ms` after the last one; without one, at once.

        The silence that was kept of both utterances' edges counts into the pause.
        """
        self._pause = max(self._samples(pause_ms), self._carried)
        self._waited = 0  # silent samples before the first loud one
        self._zeros = 0  # zeros given in their place or for the pause
        self._lead = _NOTHING  # the last of the silent samples
        self._sounded = False
        self._held: deque[NDArray[np.float32]] = deque()
        self._count = 0  # samples from the lead on
        self._given = 0  # of these, given
        self._silent = 0  # of these, silent at the end

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take float32 [N] of the utterance; give what is final now, float32 [M]."""
        loud = np.abs(samples) >= SILENCE
        samples = samples * self._gain
        first = int(loud.argmax()) if len(loud) else 0
        if not len(loud) or not loud[first]:
            return _join(self._release_silence(samples))
        pause: list[NDArray[np.float32]] = []
        if not self._sounded:
            pause = self._begin_sound(samples[:first])
            samples = samples[first:]
        self._hold(samples)
        self._silent = int(loud[::-1].argmax())
        return _join(pause + self._release())

    def end(self) -> NDArray[np.float32]:
        """End the utterance; give the rest of it, float32 [M]."""
        if not self._sounded:
            return self._end_silent()
        tail = min(self._silent, self._longest_tail)
        last = _join(self._pop(self._count - self._given - self._silent + tail))
        size = min(len(self._fade), len(last))
        last[len(last) - size :] *= self._fade[:size][::-1]
        self._held.clear()
        self._first, self._trailing, self._carried = False, tail, 0
        return last

    def _end_silent(self) -> NDArray[np.float32]:
        silence = max(0, min(self._waited, self._samples(SILENT_MS)) - self._zeros)
        self._trailing += self._zeros + silence
        self._carried = self._pause
        self._waited = self._zeros = 0
        return np.zeros(silence, np.float32)

    def _release_silence(self, samples: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        if self._sounded:
            self._hold(samples)
            self._silent += len(samples)
            return self._release()
        self._wait(samples)
        return self._pause_with(self._longest_lead)

    def _wait(self, samples: NDArray[np.float32]) -> None:
        self._waited += len(samples)
        lead = np.concatenate((self._lead, samples))
        self._lead = lead[max(0, len(lead) - self._longest_lead) :]

    def _begin_sound(self, silence: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        self._wait(silence)
        self._sounded = True
        self._hold(self._lead)
        return self._pause_with(len(self._lead))

    def _pause_with(self, lead: int) -> list[NDArray[np.float32]]:
        """The zeros that are due now if `lead` samples of silence will follow them."""
        if self._first:
            longest = self._samples(FIRST_LEAD_MS) - self._longest_lead
            wanted = min(self._waited - lead, longest)
        else:
            wanted = self._pause - self._trailing - lead
        more = max(0, wanted - self._zeros)
        self._zeros += more
        return [np.zeros(more, np.float32)] if more else []

    def _hold(self, samples: NDArray[np.float32]) -> None:
        """Keep samples, which must be an array of their own: the fade is written into it."""
        ramp = self._fade[self._count : self._count + len(samples)]
        samples[: len(ramp)] *= ramp
        self._held.append(samples)
        self._count += len(samples)

    def _release(self) -> list[NDArray[np.float32]]:
        """What certainly stays, and is not in the fade at the end."""
        uncertain = max(0, self._silent - self._longest_tail)
        return self._pop(max(0, self._count - self._given - uncertain - len(self._fade)))

    def _pop(self, wanted: int) -> list[NDArray[np.float32]]:
        """The first `wanted` samples that are held."""
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


def _ramp(size: int) -> NDArray[np.float32]:
    """Half a raised cosine, float32 [size], from just above 0 to just below 1."""
    phase = (np.arange(size) + 0.5) / max(1, size)
    return (0.5 - 0.5 * np.cos(np.pi * phase)).astype(np.float32)


def _join(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else _NOTHING
