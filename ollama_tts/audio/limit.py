"""A soft limiter: loud samples bend towards a ceiling instead of being cut off."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

KNEE: Final = 0.85
"""Up to here (-1.4 dB of full scale) samples pass unchanged."""
CEILING: Final = 1.0
"""Full scale; reached by what is as far above it as the knee is below (+1.2 dB), and louder."""


def soft_limit(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Float32 [N] with magnitudes up to `CEILING`; order and sign are kept, NaN stays NaN.

    Between knee and full scale the curve is a parabola that leaves slope 1 and ends in slope 0.
    Each sample is bent by itself, by products and differences alone, so that the result is the
    same bit for bit however the sound is cut into pieces, and nothing is held back.
    """
    magnitudes = np.abs(samples)
    loud = magnitudes > KNEE
    if not loud.any():
        return samples
    room = np.float32(CEILING - KNEE)
    short = np.maximum(np.float32(CEILING) + room - magnitudes[loud], np.float32(0))
    limited = samples.copy()
    limited[loud] = np.copysign(np.float32(CEILING) - short * short / (4 * room), samples[loud])
    return limited
