"""Numbers ↔ bytes in the types of `store.tensors`, a piece of rows at a time.

The `gguf` package does it, but for writing Q8_0: here up to four blocks of 32 share one step, the
groups of 128 in which the engine keeps int8. So the engine's int8 codes are the file's own, not a
second rounding of them, and any reader of GGUF still reads the file.
"""

import gguf
import numpy as np
from gguf import GGMLQuantizationType
from numpy.typing import NDArray

BLOCK = 32
Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def decode(raw: Bytes, dtype: str) -> Floats:
    """Bytes of a type, uint8 [R, row bytes] → float32 [R, K]."""
    return np.asarray(gguf.dequantize(raw, GGMLQuantizationType[dtype]), np.float32)


def encode(values: Floats, dtype: str) -> Bytes:
    """Float32 [R, K] → bytes of a type, uint8 [R, row bytes]; K is whole blocks.

    float16 has no number above 65504: larger ones become infinite.
    """
    if dtype == "Q8_0":
        return _encode_q8_0(values)
    with np.errstate(over="ignore"):
        made = gguf.quantize(np.ascontiguousarray(values), GGMLQuantizationType[dtype])
    return np.ascontiguousarray(made).view(np.uint8)


def group_of(width: int) -> int:
    """How many numbers of a row of `width` share a step in Q8_0: 128, or what divides the row."""
    return next((size for size in (128, 96, 64) if width % size == 0), BLOCK)


def _encode_q8_0(values: Floats) -> Bytes:
    """The largest number of each group is written as ±127, also after the step's rounding."""
    rows, width = values.shape
    group = group_of(width)
    groups = values.reshape(rows, -1, group)
    largest = np.abs(groups).max(-1, keepdims=True)
    steps = _steps(largest)
    inverse = np.divide(1, steps, out=np.zeros_like(largest), where=steps != 0, dtype=np.float32)
    scaled = groups * inverse
    np.clip(np.rint(scaled, out=scaled), -127, 127, out=scaled)
    codes = scaled.astype(np.int8).reshape(rows, -1, BLOCK)
    shared = np.repeat(steps.astype("<f2"), group // BLOCK, 1)
    return _packed(shared, codes.view(np.uint8))


def _steps(largest: Floats) -> Floats:
    """A step for each group, a float16 number with which its largest number is 127 steps long."""
    with np.errstate(over="ignore"):
        steps = (largest / 127).astype(np.float16)
        short = np.rint(largest / np.maximum(steps, np.float16(6e-8)).astype(np.float32)) < 127
        lower = np.nextafter(steps, np.float16(0))
    made: Floats = np.where(short, lower, steps).astype(np.float32)
    return made


def _packed(steps: NDArray[np.float16], codes: Bytes) -> Bytes:
    """Steps float16 [R, B, 1] and codes uint8 [R, B, n] as blocks, uint8 [R, B (n + 2)]."""
    whole = np.concatenate([np.ascontiguousarray(steps).view(np.uint8), codes], -1)
    return whole.reshape(len(whole), -1)
