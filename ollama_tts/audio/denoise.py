"""Steady noise taken out of a voice, as a stream: what a noisy recording taught a cloned voice.

Per frequency the quietest of the last seconds counts as noise (R. Martin, "Noise power spectral
density estimation based on optimal smoothing and minimum statistics", 2001); what is not well above
it is turned down (the decision-directed Wiener rule of Ephraim and Malah, 1984).
"""

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

FLOOR_DB: Final = -15.0
"""Noise is turned down by so much at most: silence that is too clean sounds like a gap."""

_FRAME_MS = 32
_WINDOW_FRAMES = 94  # 1.5 s: longer than a vowel lasts
_SMOOTHING = 0.7  # of the power from frame to frame, before the minimum is taken
_BIAS = 2.0  # a minimum lies below the mean that is looked for
_MEMORY = 0.95  # how much of the estimate of speech comes from the frame before
_FAINT = 1e-12


class Denoiser:
    """Denoises one utterance, float32 at `sample_rate_hz`, sample for sample.

    In whatever pieces the sound comes, the result is bit for bit that of the whole sound. It is
    held back by half a frame (16 ms) at most.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        self._hop = max(2, sample_rate_hz * _FRAME_MS // 2000)
        phase = (np.arange(2 * self._hop) + 0.5) / (2 * self._hop)
        self._window = np.sin(np.pi * phase)
        self._input = np.zeros(self._hop)  # the frame before the first sample is silence
        self._tail = np.zeros(self._hop)  # second half of the last frame that was made
        self._powers: deque[NDArray[np.float64]] = deque(maxlen=_WINDOW_FRAMES)
        self._speech = np.zeros(self._hop + 1)  # power of speech in the frame before
        self._to_drop = self._hop
        self._missing = 0  # samples taken and not given back yet

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take float32 [N]; give what is final now, float32 [M]."""
        self._missing += len(samples)
        self._input = np.concatenate((self._input, samples))
        made = []
        while len(self._input) >= 2 * self._hop:
            made.append(self._next(self._input[: 2 * self._hop]))
            self._input = self._input[self._hop :]
        return self._given(made)

    def finish(self) -> NDArray[np.float32]:
        """The rest, float32 [M], once: as many samples come out as went in."""
        wanted = self._missing
        rest = self.feed(np.zeros(2 * self._hop, np.float32))[:wanted]
        self._missing = 0
        return rest

    def _given(self, made: list[NDArray[np.float64]]) -> NDArray[np.float32]:
        whole = np.concatenate(made) if made else np.zeros(0)
        given = whole[self._to_drop :].astype(np.float32)
        self._to_drop = max(0, self._to_drop - len(whole))
        self._missing -= len(given)
        return given

    def _next(self, frame: NDArray[np.float64]) -> NDArray[np.float64]:
        """The samples that a further frame completes, float64 [hop]."""
        spectrum = np.fft.rfft(frame * self._window)
        clean = np.fft.irfft(spectrum * self._gains(np.abs(spectrum) ** 2)) * self._window
        made = self._tail + clean[: self._hop]
        self._tail = clean[self._hop :]
        return made

    def _gains(self, power: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each frequency is multiplied with, [hop + 1]."""
        before = self._powers[-1] if self._powers else power
        self._powers.append(_SMOOTHING * before + (1 - _SMOOTHING) * power)
        noise = _BIAS * np.min(self._powers, axis=0) + _FAINT
        above = np.maximum(power / noise - 1, 0)
        likely = _MEMORY * self._speech / noise + (1 - _MEMORY) * above
        gains: NDArray[np.float64] = np.maximum(likely / (1 + likely), 10 ** (FLOOR_DB / 20))
        self._speech = gains**2 * power
        return gains
