"""`Sound`: one whole utterance as it was spoken, before speed, pauses and encoding."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """`samples`: float32 [N] mono at the voice's rate. `steps`: codec steps behind them.

    `model` is the digest of the model that spoke, in hex, so that its sounds can be found again.
    """

    samples: NDArray[np.float32]
    steps: int
    model: str = ""

    @property
    def size_bytes(self) -> int:
        """What it occupies."""
        return self.samples.nbytes


@dataclass(frozen=True, slots=True)
class Extent:
    """How many sounds there are, and how many bytes they hold together."""

    sounds: int = 0
    size_bytes: int = 0
