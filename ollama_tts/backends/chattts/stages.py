"""What decoder and vocoder are made of: convolutions and ConvNeXt blocks, one after the other.

`StageWeights` say what a stage computes; `Stages` compute all of them, in torch
(`stream_conv.py`) or in the native library (`native_stages.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from ollama_tts.backends.chattts.weights import Checkpoint

Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class ConvWeights:
    """A convolution over all channels, "same" padding: `weight` [out, in, kernel], `bias` [out].

    Then `after`: GELU, or a layer norm of (scale, shift).
    """

    weight: Tensor
    bias: Tensor | None = None
    after: Literal["gelu"] | Pair | None = None


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """A ConvNeXt block: depthwise convolution, norm, two products with GELU between, residual.

    `taps` [kernel, channels]. The checkpoint's scale of the residual path is part of `shrink`
    already. Then perhaps a layer norm `after`.
    """

    taps: Tensor
    bias: Tensor
    dilation: int
    norm: Pair
    grow: Pair
    shrink: Pair
    after: Pair | None = None


StageWeights = ConvWeights | BlockWeights


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames of several streams.

    `rows` float32 [sum(counts), channels], the first stream's first. `counts`: how many of each
    stream. `last`: streams that end with these frames.
    """

    rows: Tensor
    counts: tuple[int, ...]
    last: tuple[bool, ...]

    def with_rows(self, rows: Tensor) -> "Frames":
        """Other numbers for the same frames."""
        return Frames(rows, self.counts, self.last)


class Stages(Protocol):
    """Stages of a stream, one after the other. A state is never changed in place."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""

    def begin(self) -> tuple[Tensor, ...]:
        """A new stream's state."""

    def push(
        self, x: Frames, states: Sequence[tuple[Tensor, ...]], ahead: Sequence[bool]
    ) -> tuple[list[Tensor], list[tuple[Tensor, ...]]]:
        """Feed each stream its next frames.

        Returns the rows that are complete now of each stream, and the new states; then, for each
        stream that is to look `ahead`, the rows that would come next if it ended here.
        """


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one weight file's tensors as float32 on one device."""

    checkpoint: Checkpoint
    file: str
    device: torch.device

    def tensor(self, name: str) -> Tensor:
        """The tensor `name`."""
        return self.checkpoint.tensor(self.file, name, torch.float32, self.device)

    def pair(self, name: str) -> Pair:
        """`name`'s weight and bias, or scale and shift."""
        return self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")

    def block(self, name: str, *, scale: str, dilation: int, after: Pair | None) -> BlockWeights:
        """A ConvNeXt block; `scale` names the tensor that scales its residual path."""
        factor = self.tensor(f"{name}.{scale}")
        weight, bias = self.pair(f"{name}.pwconv2")
        return BlockWeights(
            taps=self.tensor(f"{name}.dwconv.weight")[:, 0].T.contiguous(),
            bias=self.tensor(f"{name}.dwconv.bias"),
            dilation=dilation,
            norm=self.pair(f"{name}.norm"),
            grow=self.pair(f"{name}.pwconv1"),
            shrink=(weight * factor[:, None], bias * factor),
            after=after,
        )
