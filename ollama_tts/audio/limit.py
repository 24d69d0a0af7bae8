"""A soft limiter: loud samples bend towards a ceiling instead of being cut off."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

KNEE: Final = 0.85
"""Up to here (-1.4 dB of full scale) samples pass unchanged."""
CEILING: Final = 0.99
"""No sample becomes larger, however loud it was."""


def soft_limit(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Float32 [N] with magnitudes under `CEILING`; order and sign are kept, NaN stays NaN.

    Each sample is bent by itself, by additions and divisions alone, so that the result is the
    same bit for bit however the sound is cut into pieces, and nothing is held back.
    """
    magnitudes = np.abs(samples)
    loud = magnitudes > KNEE
    if not loud.any():
        return samples
    room = np.float32(CEILING - KNEE)
    over = magnitudes[loud] - np.float32(KNEE)
    limited = samples.copy()
    bent = np.float32(KNEE) + (room - room * room / (room + over))
    limited[loud] = np.copysign(bent, samples[loud])
    return limited
