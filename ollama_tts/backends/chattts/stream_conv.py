"""Convolutions over frames that arrive in pieces, of several streams at once.

A convolution looks p frames to both sides. As a stream it keeps its last 2p inputs and gives a
frame as soon as its right neighbours are there; at the end zeros stand in for frames that will
never come, as "same" padding has them. So each frame is computed once, with exactly the numbers
of the whole computed at once.

Frames of all streams stand below each other, [frames, channels], and every product runs in tiles
of a fixed number of rows: neither the cutting into pieces nor the company of other streams changes
a bit. States are never changed in place; going on from an old state is allowed ("peeking").
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from ollama_tts.backends.chattts.linear import Product

FRAME_TILE = 32


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


@dataclass(frozen=True, slots=True)
class Context:
    """Rows that a convolution of `reach` looks at, joined for all streams.

    `rows` [sum(counts + 2 reach), channels]: each stream's part with its neighbours on both
    sides. `centres`: the frames that come out, as they went in.
    """

    rows: Tensor
    counts: tuple[int, ...]
    last: tuple[bool, ...]
    reach: int

    @property
    def centres(self) -> Frames:
        """The frames that come out, as they went in (for a residual path)."""
        return Frames(self._cut(self.rows, self.reach), self.counts, self.last)

    def valid(self, rows: Tensor) -> Tensor:
        """What belongs to the frames that come out.

        Of values [len(rows) - 2 reach, n], one for the window that starts at each row, those
        whose window lies inside one stream.
        """
        return self._cut(rows, 0)

    def _cut(self, rows: Tensor, offset: int) -> Tensor:
        if len(self.counts) == 1:
            return rows[offset : offset + self.counts[0]]
        parts, start = [], offset
        for count in self.counts:
            parts.append(rows[start : start + count])
            start += count + 2 * self.reach
        return torch.cat(parts)


def gather(x: Frames, states: Sequence[Tensor], reach: int) -> tuple[Context, list[Tensor]]:
    """What a convolution can compute now, and what each stream keeps for later.

    Streams with too few frames give none yet. A state is [up to 2 `reach`, channels].
    """
    parts, counts, kept = [], [], []
    pieces = torch.split(x.rows, list(x.counts))
    for piece, state, last in zip(pieces, states, x.last, strict=True):
        end = [state.new_zeros(reach, state.shape[1])] if last else []
        whole = torch.cat([state, piece, *end])
        count = max(0, len(whole) - 2 * reach)
        counts.append(count)
        kept.append(whole[count:])
        parts.append(whole if count else functional.pad(whole, (0, 0, 0, 2 * reach - len(whole))))
    return Context(torch.cat(parts), tuple(counts), x.last, reach), kept


class Conv:
    """A convolution over all channels; `weight` [out, in, kernel], "same" padding.

    `matrix` makes its one product; build it from `flattened(weight)`.
    """

    def __init__(self, matrix: Product, channels: int, kernel: int) -> None:
        self._matrix = matrix
        self._channels = channels
        self._kernel = kernel
        self.reach = kernel // 2

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        return self._matrix.nbytes

    def begin(self, like: Tensor) -> Tensor:
        """A new stream's state: the zeros before the first frame."""
        return like.new_zeros(self.reach, self._channels)

    def __call__(self, x: Frames, states: Sequence[Tensor]) -> tuple[Frames, list[Tensor]]:
        """Frames that are complete now, and the new states."""
        context, kept = gather(x, states, self.reach)
        span = len(context.rows) - 2 * self.reach
        side = [context.rows[k : k + span] for k in range(self._kernel)]
        columns = context.valid(torch.cat(side, 1))
        made = self._matrix(columns, FRAME_TILE)
        return Frames(made, context.counts, x.last), kept


def flattened(weight: Tensor) -> Tensor:
    """[out, in, kernel] as the matrix [out, kernel * in] that `Conv` multiplies with."""
    return weight.permute(0, 2, 1).flatten(1)


@dataclass(frozen=True, slots=True)
class Block:
    """A ConvNeXt block: depthwise convolution of 7, norm, two products, scale, residual.

    `taps` [7, channels]; everything else as in the checkpoint, float32.
    """

    taps: Tensor
    bias: Tensor
    dilation: int
    norm: tuple[Tensor, Tensor]
    grow: Product
    shrink: Product
    scale: Tensor

    @property
    def reach(self) -> int:
        """Frames looked at on each side."""
        return self.dilation * (len(self.taps) // 2)

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        small = (self.taps, self.bias, *self.norm, self.scale)
        return self.grow.nbytes + self.shrink.nbytes + sum(t.nbytes for t in small)

    def begin(self, like: Tensor) -> Tensor:
        """A new stream's state: the zeros before the first frame."""
        return like.new_zeros(self.reach, self.taps.shape[1])

    def __call__(self, x: Frames, states: Sequence[Tensor]) -> tuple[Frames, list[Tensor]]:
        """Frames that are complete now, and the new states."""
        context, kept = gather(x, states, self.reach)
        centres = context.centres
        y = layer_norm(context.valid(self._depthwise(context.rows)), self.norm)
        y = self.shrink(functional.gelu(self.grow(y, FRAME_TILE)), FRAME_TILE) * self.scale
        return centres.with_rows(centres.rows + y), kept

    def _depthwise(self, rows: Tensor) -> Tensor:
        """Seven multiply-adds over shifted rows: [n, c] → [n - 2 reach, c]."""
        span = len(rows) - 2 * self.reach
        made = self.bias.expand(span, -1)
        for k, tap in enumerate(self.taps):
            start = k * self.dilation
            made = torch.addcmul(made, rows[start : start + span], tap)
        return made


def layer_norm(rows: Tensor, weights: tuple[Tensor, Tensor]) -> Tensor:
    """Each row [channels] normalised, with `weights` (scale, shift)."""
    return functional.layer_norm(rows, rows.shape[-1:], *weights, 1e-6)
