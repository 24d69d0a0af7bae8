"""Stages in torch: convolutions over frames that arrive in pieces, of several streams at once.

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

from ollama_tts.backends.chattts.linear import DenseWeight, Linear
from ollama_tts.backends.chattts.stages import BlockWeights, ConvWeights, Frames, StageWeights

FRAME_TILE = 32
NORM_EPSILON = 1e-6
State = tuple[Tensor, ...]


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
    """A convolution over all channels, and what is done to each frame after it."""

    def __init__(self, weights: ConvWeights) -> None:
        self._channels, self._kernel = weights.weight.shape[1:]
        self._product = product(flattened(weights.weight), weights.bias)
        self._after = weights.after
        self.reach = self._kernel // 2

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        return self._product.nbytes

    def begin(self, like: Tensor) -> Tensor:
        """A new stream's state: the zeros before the first frame."""
        return like.new_zeros(self.reach, self._channels)

    def __call__(self, x: Frames, states: Sequence[Tensor]) -> tuple[Frames, list[Tensor]]:
        """Frames that are complete now, and the new states."""
        context, kept = gather(x, states, self.reach)
        span = len(context.rows) - 2 * self.reach
        side = [context.rows[k : k + span] for k in range(self._kernel)]
        made = self._product(context.valid(torch.cat(side, 1)), FRAME_TILE)
        if self._after == "gelu":
            made = functional.gelu(made)
        elif self._after is not None:
            made = layer_norm(made, self._after)
        return Frames(made, context.counts, x.last), kept


class Block:
    """A ConvNeXt block."""

    def __init__(self, weights: BlockWeights) -> None:
        self._is = weights
        self._grow, self._shrink = product(*weights.grow), product(*weights.shrink)
        self.reach = weights.dilation * (len(weights.taps) // 2)

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        small = (self._is.taps, self._is.bias, *self._is.norm)
        return self._grow.nbytes + self._shrink.nbytes + sum(t.nbytes for t in small)

    def begin(self, like: Tensor) -> Tensor:
        """A new stream's state: the zeros before the first frame."""
        return like.new_zeros(self.reach, self._is.taps.shape[1])

    def __call__(self, x: Frames, states: Sequence[Tensor]) -> tuple[Frames, list[Tensor]]:
        """Frames that are complete now, and the new states."""
        context, kept = gather(x, states, self.reach)
        centres = context.centres
        y = layer_norm(context.valid(self._depthwise(context.rows)), self._is.norm)
        y = self._shrink(functional.gelu(self._grow(y, FRAME_TILE)), FRAME_TILE)
        made = centres.rows + y
        after = self._is.after
        return centres.with_rows(made if after is None else layer_norm(made, after)), kept

    def _depthwise(self, rows: Tensor) -> Tensor:
        """Seven multiply-adds over shifted rows: [n, c] → [n - 2 reach, c]."""
        span = len(rows) - 2 * self.reach
        made = self._is.bias.expand(span, -1)
        for k, tap in enumerate(self._is.taps):
            start = k * self._is.dilation
            made = torch.addcmul(made, rows[start : start + span], tap)
        return made


class TorchStages:
    """`Stages` in torch, on the device of their weights."""

    def __init__(self, weights: Sequence[StageWeights]) -> None:
        self._stages = [Conv(w) if isinstance(w, ConvWeights) else Block(w) for w in weights]
        first = weights[0]
        self._like = (first.weight if isinstance(first, ConvWeights) else first.taps)[:0]

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return sum(stage.nbytes for stage in self._stages)

    def begin(self) -> State:
        """A new stream's state."""
        return tuple(stage.begin(self._like) for stage in self._stages)

    def push(
        self, x: Frames, states: Sequence[State], ahead: Sequence[bool]
    ) -> tuple[list[Tensor], list[State]]:
        """Feed each stream its next frames; see `Stages.push`."""
        made, kept = self._through(x, states)
        chosen = [state for state, wanted in zip(kept, ahead, strict=True) if wanted]
        if chosen:
            end = Frames(x.rows[:0], (0,) * len(chosen), (True,) * len(chosen))
            made += self._through(end, chosen)[0]
        return made, kept

    def _through(self, x: Frames, states: Sequence[State]) -> tuple[list[Tensor], list[State]]:
        kept: list[list[Tensor]] = []
        for stage, before in zip(self._stages, zip(*states, strict=True), strict=True):
            x, after = stage(x, before)
            kept.append(after)
        return list(torch.split(x.rows, list(x.counts))), list(zip(*kept, strict=True))


def product(weight: Tensor, bias: Tensor | None) -> Linear:
    """`y = x Wᵀ (+ b)`, rows never touching."""
    return Linear(DenseWeight(weight), bias)


def flattened(weight: Tensor) -> Tensor:
    """[out, in, kernel] as the matrix [out, kernel * in] that frames side by side meet."""
    return weight.permute(0, 2, 1).flatten(1)


def layer_norm(rows: Tensor, weights: tuple[Tensor, Tensor]) -> Tensor:
    """Each row [channels] normalised, with `weights` (scale, shift)."""
    return functional.layer_norm(rows, rows.shape[-1:], *weights, NORM_EPSILON)
