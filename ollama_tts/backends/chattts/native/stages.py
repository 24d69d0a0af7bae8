"""Frames of streams through convolutions and ConvNeXt blocks, in the native library.

A frame's result depends on itself and its neighbours alone, bit for bit: not on the cutting into
pieces, the company of other streams, or the number of threads.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.chattts.native import library
from ollama_tts.backends.chattts.native.library import MODES, PATHS, Mode, Path, Stage, Stream
from ollama_tts.errors import OutOfMemory, Unsupported

AFTER: tuple[Literal["nothing", "gelu", "norm"], ...] = ("nothing", "gelu", "norm")
Floats = NDArray[np.float32]
State = NDArray[np.uint8]


class StagePart(IntEnum):
    """The parts of a stage; a convolution has no second product, taps and norm."""

    FIRST = 0
    FIRST_BIAS = 1
    SECOND = 2
    SECOND_BIAS = 3
    TAPS = 4
    TAPS_BIAS = 5
    NORM_SCALE = 6
    NORM_SHIFT = 7
    AFTER_SCALE = 8
    AFTER_SHIFT = 9


@dataclass(frozen=True, slots=True)
class NativeStage:
    """One stage: a convolution over all channels, or with `inner` a ConvNeXt block.

    `parts`: float32, FIRST [outputs, kernel * channels] or [inner, channels], SECOND
    [channels, inner], TAPS [kernel, channels], everything else a number for each output.
    `mode`: precision of the products.
    """

    channels: int
    outputs: int
    kernel: int
    parts: Mapping[StagePart, Floats]
    dilation: int = 1
    inner: int = 0
    mode: Mode = "fp32"
    after: Literal["nothing", "gelu", "norm"] = "nothing"

    @property
    def reach(self) -> int:
        """Frames looked at on each side."""
        return self.dilation * (self.kernel // 2)

    def described(self) -> Stage:
        """As the library wants it."""
        return Stage(
            int(self.inner > 0), self.channels, self.outputs, self.kernel, self.dilation,
            self.inner, MODES.index(self.mode), AFTER.index(self.after),
        )  # fmt: skip


class NativeStages:
    """Stages one after the other; used by one thread at a time.

    Args:
        stages: The first stage first; their values are packed, not kept.
        threads: How many threads work.
        path: The instruction set.
        epsilon: Added to the variance by every norm.

    Raises:
        Unsupported: The library is not there, the path does not run here, or a shape that it
            cannot do.
        OutOfMemory: No memory for the weights.
    """

    def __init__(
        self,
        stages: Sequence[NativeStage],
        *,
        threads: int,
        path: Path = "best",
        epsilon: float = 1e-6,
    ) -> None:
        self._library = library.load()
        self._reach = sum(stage.reach for stage in stages)
        self._channels, self._outputs = stages[0].channels, stages[-1].outputs
        status = ctypes.c_int32()
        self._pool = self._library.ott_pool_new(threads, PATHS.index(path), ctypes.byref(status))
        if not self._pool:
            raise Unsupported(f"the native library does not run on {path!r} here")
        shapes = (Stage * len(stages))(*(stage.described() for stage in stages))
        self._handle = self._library.ott_stages_new(
            shapes, len(stages), epsilon, ctypes.byref(status)
        )
        if status.value == library.NO_MEMORY:
            raise OutOfMemory("no memory for the decoder")
        if not self._handle:
            raise Unsupported("the native library does not do a decoder of this shape")
        for index, stage in enumerate(stages):
            for part, values in stage.parts.items():
                self._fill(index, part, values)

    def _fill(self, index: int, part: StagePart, values: Floats) -> None:
        values = np.ascontiguousarray(values, np.float32)
        status = self._library.ott_stages_fill(self._handle, index, part, values.ctypes.data)
        assert status == library.OK

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return int(self._library.ott_stages_bytes(self._handle))

    def begin(self) -> State:
        """A new stream's state."""
        state = np.empty(self._library.ott_stages_state_bytes(self._handle), np.uint8)
        self._library.ott_stages_begin(self._handle, state.ctypes.data)
        return state

    def push(
        self,
        rows: Floats,
        counts: Sequence[int],
        states: Sequence[State],
        *,
        last: Sequence[bool],
        ahead: Sequence[bool],
    ) -> tuple[list[Floats], list[State]]:
        """Feed each stream its next frames; `rows` [sum(counts), channels].

        Returns the frames [n, outputs] that came out of each stream, and the new states; the old
        ones stay as they are. Then for each stream that is to look `ahead` the frames that would
        come next if it ended here.

        Raises:
            OutOfMemory: No room for so many frames.
        """
        kept = [np.empty_like(state) for state in states]
        rows = np.ascontiguousarray(rows, np.float32)
        assert rows.shape == (sum(counts), self._channels)
        streams = [
            Stream(state.ctypes.data, new.ctypes.data, count, int(ends), -1)
            for state, new, count, ends in zip(states, kept, counts, last, strict=True)
        ]
        streams += [Stream(None, None, 0, 1, i) for i, wanted in enumerate(ahead) if wanted]
        most = len(rows) + len(streams) * self._reach
        made, found = np.empty((most, self._outputs), np.float32), np.empty(len(streams), np.int32)
        status = self._library.ott_stages_push(
            self._handle, self._pool, len(streams), (Stream * len(streams))(*streams),
            rows.ctypes.data, made.ctypes.data, found.ctypes.data,
        )  # fmt: skip
        if status != library.OK:
            raise OutOfMemory("no memory to make this sound")
        ends = list(accumulate(found.tolist(), initial=0))
        parts = [made[start:stop] for start, stop in pairwise(ends)]
        return parts, kept

    def __del__(self) -> None:
        """Free the weights and end the threads."""
        if getattr(self, "_handle", None):
            self._library.ott_stages_free(self._handle)
        if getattr(self, "_pool", None):
            self._library.ott_pool_free(self._pool)
