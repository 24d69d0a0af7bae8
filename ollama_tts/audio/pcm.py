"""`Pcm`: mono float32 samples with their sample rate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Pcm:
    """Mono sound: `samples` is float32 [N], nominally in [-1, 1], at `sample_rate_hz`."""

    samples: NDArray[np.float32]
    sample_rate_hz: int

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate_hz


def to_int16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """Float32 [N] in [-1, 1] as int16 [N]; what is beyond saturates and never wraps around.

    NaN becomes 0. Full scale is 32767 (the convention of libsndfile's clipping writer).
    """
    scaled = np.minimum(samples, np.float32(1.0))
    np.maximum(scaled, _LOWEST, out=scaled)
    np.multiply(scaled, np.float32(32767.0), out=scaled)
    np.rint(scaled, out=scaled)
    if np.isnan(scaled.sum()):
        scaled[np.isnan(scaled)] = 0.0
    return scaled.astype(np.int16)


_LOWEST = np.float32(-32768 / 32767)
