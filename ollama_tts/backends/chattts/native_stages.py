"""Decoder and vocoder stages in the native library."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ollama_tts.backends.chattts.native.library import Mode, Path
from ollama_tts.backends.chattts.native.stages import NativeStage, NativeStages, StagePart
from ollama_tts.backends.chattts.stages import (
    BlockWeights,
    ConvWeights,
    Frames,
    Stages,
    StageWeights,
)
from ollama_tts.backends.chattts.stream_conv import NORM_EPSILON, State, TorchStages, flattened
from ollama_tts.errors import Unsupported


class CompiledStages:
    """`Stages` in the native library, blocks in `mode` and everything else in float32."""

    def __init__(
        self, weights: Sequence[StageWeights], *, threads: int, mode: Mode, path: Path
    ) -> None:
        stages = [_conv(w) if isinstance(w, ConvWeights) else _block(w, mode) for w in weights]
        self._stages = NativeStages(stages, threads=threads, path=path, epsilon=NORM_EPSILON)

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self._stages.nbytes

    def begin(self) -> State:
        """A new stream's state."""
        return (torch.from_numpy(self._stages.begin()),)

    def push(
        self, x: Frames, states: Sequence[State], ahead: Sequence[bool]
    ) -> tuple[list[Tensor], list[State]]:
        """Feed each stream its next frames; see `Stages.push`.

        Raises:
            OutOfMemory: No room for so many frames.
        """
        before = [state[0].numpy() for state in states]
        made, kept = self._stages.push(x.rows.numpy(), x.counts, before, last=x.last, ahead=ahead)
        return [torch.from_numpy(rows) for rows in made], [(torch.from_numpy(s),) for s in kept]


def native_stages(
    *, threads: int, int8: bool, path: Path = "best"
) -> Callable[[Sequence[StageWeights]], Stages]:
    """Makes stages that share `threads` threads, with blocks in int8 if asked, else in float32.

    Where a shape does not fit, they are made in torch.
    """

    def make(weights: Sequence[StageWeights]) -> Stages:
        try:
            return CompiledStages(
                weights, threads=threads, mode="int8" if int8 else "fp32", path=path
            )
        except Unsupported:
            return TorchStages(weights)

    return make


def _conv(weights: ConvWeights) -> NativeStage:
    outputs, channels, kernel = weights.weight.shape
    parts = {StagePart.FIRST: flattened(weights.weight).numpy()}
    if weights.bias is not None:
        parts[StagePart.FIRST_BIAS] = weights.bias.numpy()
    if weights.after == "gelu":
        return NativeStage(channels, outputs, kernel, parts, after="gelu")
    if weights.after is None:
        return NativeStage(channels, outputs, kernel, parts)
    scale, shift = weights.after
    parts |= {StagePart.AFTER_SCALE: scale.numpy(), StagePart.AFTER_SHIFT: shift.numpy()}
    return NativeStage(channels, outputs, kernel, parts, after="norm")


def _block(weights: BlockWeights, mode: Mode) -> NativeStage:
    tensors = {
        StagePart.FIRST: weights.grow[0],
        StagePart.FIRST_BIAS: weights.grow[1],
        StagePart.SECOND: weights.shrink[0],
        StagePart.SECOND_BIAS: weights.shrink[1],
        StagePart.TAPS: weights.taps,
        StagePart.TAPS_BIAS: weights.bias,
        StagePart.NORM_SCALE: weights.norm[0],
        StagePart.NORM_SHIFT: weights.norm[1],
    }
    if weights.after is not None:
        tensors |= {
            StagePart.AFTER_SCALE: weights.after[0],
            StagePart.AFTER_SHIFT: weights.after[1],
        }
    kernel, channels = weights.taps.shape
    return NativeStage(
        channels, channels, kernel, {part: t.numpy() for part, t in tensors.items()},
        dilation=weights.dilation, inner=len(weights.grow[0]), mode=mode,
        after="nothing" if weights.after is None else "norm",
    )  # fmt: skip
