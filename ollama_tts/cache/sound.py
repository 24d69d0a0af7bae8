"""`Sound`: one whole utterance as it was spoken, before speed, pauses and encoding."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """`samples`: float32 [N] mono at the voice's rate. `steps`: codec steps behind them."""

    samples: NDArray[np.float32]
    steps: int

    @property
    def size_bytes(self) -> int:
        """What it occupies."""
        return self.samples.nbytes
