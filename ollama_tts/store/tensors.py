"""Where a tensor lies in a file of weights, and how its numbers are written there."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorType:
    """How numbers are written: `block` numbers of a row in `block_bytes`.

    `ggml` is the type's number in GGUF, `file_type` llama.cpp's number (`LLAMA_FTYPE_*`) of a
    file that is mostly of this type. `narrow` types keep fewer than 16 bits a number.
    """

    name: str
    ggml: int
    file_type: int
    block: int
    block_bytes: int

    @property
    def narrow(self) -> bool:
        """Whether numbers are rounded to steps that their neighbours share."""
        return self.block > 1

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether rows of a tensor of this shape are whole blocks."""
        return self.block == 1 or (len(shape) > 1 and shape[-1] % self.block == 0)

    def size_bytes(self, count: int) -> int:
        """The bytes of `count` numbers that are whole blocks."""
        return count // self.block * self.block_bytes


TYPES: Mapping[str, TensorType] = {
    kind.name: kind
    for kind in (
        TensorType("F32", 0, 0, 1, 4),
        TensorType("F16", 1, 1, 1, 2),
        TensorType("BF16", 30, 32, 1, 2),
        TensorType("Q8_0", 8, 7, 32, 34),
        TensorType("Q5_0", 6, 8, 32, 22),
        TensorType("Q4_0", 2, 2, 32, 18),
    )
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor as its file's header tells of it.

    `dtype` is the type's name in that format. `shape` is outermost first. `start_bytes` counts
    from the file's first byte.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    start_bytes: int
    size_bytes: int

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)
