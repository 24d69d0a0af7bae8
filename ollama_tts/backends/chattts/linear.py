"""Matrix products whose rows never touch: `y = x Wᵀ (+ b)` in one of the weight formats.

A matrix library picks another kernel, with another order of additions, for another number of rows.
So every product here is made of tiles of one fixed number of rows, the last one filled up with
zeros: a row's result is then the same bits alone, in any batch and at any place in it.

Letters: R rows, K inputs, N outputs.
"""

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

INT8_GROUP = 128
INT4_GROUP = 32


class Weight(Protocol):
    """A weight [N, K] in some format."""

    @property
    def nbytes(self) -> int:
        """Bytes it occupies."""

    def dense(self) -> Tensor:
        """[N, K] in the dtype that products are made in."""


class DenseWeight:
    """A weight kept as it is used, in the dtype of `values` [N, K]."""

    def __init__(self, values: Tensor) -> None:
        self._values = values.contiguous()

    @property
    def nbytes(self) -> int:
        """Bytes it occupies."""
        return self._values.nbytes

    def dense(self) -> Tensor:
        """The weight itself."""
        return self._values


class Int8Weight:
    """Eight bits a number and a float32 scale for each group of up to 128 along K."""

    def __init__(self, values: Tensor, compute: torch.dtype) -> None:
        self._shape = values.shape
        groups = _grouped(values, INT8_GROUP)
        self._scale = (groups.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-12)
        self._codes = (groups / self._scale).round_().clamp_(-127, 127).to(torch.int8)
        self._compute = compute

    @property
    def nbytes(self) -> int:
        """Bytes it occupies."""
        return self._codes.nbytes + self._scale.nbytes

    def dense(self) -> Tensor:
        """[N, K], unfolded for one product."""
        return (self._codes * self._scale).to(self._compute).view(self._shape)


class Int4Weight:
    """Four bits a number, with a float16 step and floor for each group of up to 32 along K.

    Numbers that were in steps of four bits already (Q4_0) keep those.
    """

    def __init__(self, values: Tensor, compute: torch.dtype) -> None:
        self._shape = values.shape
        groups = _grouped(values, INT4_GROUP)
        self._floor, self._step = _even_steps(groups)
        codes = ((groups - self._floor.float()) / self._step.float()).round_().clamp_(0, 15)
        pairs = codes.to(torch.uint8)
        self._pairs = pairs[..., 0::2] | pairs[..., 1::2] << 4
        self._compute = compute

    @property
    def nbytes(self) -> int:
        """Bytes it occupies."""
        return self._pairs.nbytes + self._step.nbytes + self._floor.nbytes

    def dense(self) -> Tensor:
        """[N, K], unfolded for one product."""
        codes = torch.stack([self._pairs & 15, self._pairs >> 4], -1).flatten(-2)
        return (
            (codes * self._step.float() + self._floor.float()).to(self._compute).view(self._shape)
        )


def _even_steps(groups: Tensor) -> tuple[Tensor, Tensor]:
    """Floor and step of groups float32 [N, G, n], float16 [N, G, 1].

    A group of Q4_0 has its extreme number at -8 steps: where all numbers are whole steps from it,
    they are kept; elsewhere the steps go from the least to the largest number.
    """
    floor, ceiling = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    lowest = floor.half()
    step = ((ceiling - lowest.float()) / 15).clamp_min(1e-6).half()
    old = torch.where(ceiling > -floor, ceiling, floor) / -8
    counted = groups / torch.where(old == 0, 1, old)
    kept = ((counted == counted.round()) & (counted <= 7)).all(-1, keepdim=True)
    kept &= (old.half().float() == old) & (old != 0) & (old.abs() < 8000)
    return torch.where(kept, -8 * old, lowest).half(), torch.where(kept, old, step).half()


def _grouped(values: Tensor, most: int) -> Tensor:
    """Float32 [N, K] as [N, groups, size], the largest even size up to `most` that divides K."""
    size = next((s for s in range(most, 1, -2) if values.shape[1] % s == 0), values.shape[1])
    return values.float().reshape(values.shape[0], -1, size)


def pack(values: Tensor, quantization: str, compute: torch.dtype) -> Weight:
    """`values` [N, K] in the format that `quantization` names; products are made in `compute`."""
    if quantization == "int8":
        return Int8Weight(values, compute)
    if quantization == "int4":
        return Int4Weight(values, compute)
    return DenseWeight(values.to(compute))


class Linear:
    """`x` float32 [R, K] → float32 [R, N], in tiles of a fixed number of rows.

    Args:
        weight: [N, K].
        bias: [N], added in float32; or None.
    """

    def __init__(self, weight: Weight, bias: Tensor | None = None) -> None:
        self._weight = weight
        self._bias = bias

    @property
    def nbytes(self) -> int:
        """Bytes that weight and bias occupy."""
        return self._weight.nbytes + (0 if self._bias is None else self._bias.nbytes)

    def __call__(self, x: Tensor, tile: int) -> Tensor:
        """The product; equal rows give equal bits for one `tile`, whatever stands beside them."""
        weight = self._weight.dense()
        rows = x.shape[0]
        padded = functional.pad(x, (0, 0, 0, -rows % tile)) if rows % tile else x
        parts = [
            functional.linear(part, weight) for part in torch.split(padded.to(weight.dtype), tile)
        ]
        made = (parts[0] if len(parts) == 1 else torch.cat(parts))[:rows].float()
        return made if self._bias is None else made + self._bias
