"""A model that does not stop by itself ends in silence; what is too long of it is cut."""

import numpy as np
from numpy.typing import NDArray

QUIET = 1e-3
LONGEST_S = 0.5


class TrailingSilence:
    """Passes sound on, but silence beyond half a second only once sound follows it.

    Silence is |x| < 1e-3 (-60 dB of full scale). Only the end of an utterance is ever shortened.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        self._longest = int(LONGEST_S * sample_rate_hz)
        self._passed = 0
        self._held: list[NDArray[np.float32]] = []

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """What may be passed on now of float32 [n]; the rest is held back."""
        loud = np.flatnonzero(np.abs(samples) >= QUIET)
        sounding = int(loud[-1]) + 1 if len(loud) else 0
        released: list[NDArray[np.float32]] = []
        if sounding:
            released, self._held, self._passed = [*self._held, samples[:sounding]], [], 0
        quiet = samples[sounding:]
        room = max(0, self._longest - self._passed)
        released.append(quiet[:room])
        self._passed += len(quiet[:room])
        if len(quiet) > room:
            self._held.append(quiet[room:])
        return np.concatenate(released)
