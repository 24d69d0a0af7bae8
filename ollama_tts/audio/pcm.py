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
    scaled = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0) * 32767.0
    return np.clip(np.rint(scaled), -32768, 32767).astype(np.int16)
