"""`NativeStep`: one model in the native library, spoken to with numpy arrays.

Covers what `StepModel` asks of the language model (start, step, text, stop); turning hidden
states into sound is the decoder's work, elsewhere.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.chattts.native import library
from ollama_tts.backends.chattts.native.library import Mode, Path
from ollama_tts.engine.step_model import Job, Outcome, OutcomeKind, Prefill, attempt_seed
from ollama_tts.errors import LoadFailed, OutOfMemory, Unsupported

_KINDS: tuple[OutcomeKind, ...] = ("token", "end", "failed")
_DTYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}
_BFLOAT16 = 2


class Part(IntEnum):
    """The weights of a model, each [rows, inputs] (norms and frequencies: one row).

    `layer` counts layers up to NORM_FEED, codebooks for the last two; the others have none.
    """

    QUERY = 0
    KEY = 1
    VALUE = 2
    OUTPUT = 3
    GATE = 4
    UP = 5
    DOWN = 6
    NORM_ATTENTION = 7
    NORM_FEED = 8
    NORM_LAST = 9
    ROPE = 10
    """Inverse frequencies, float32 [hidden / heads / 2]."""
    EMBED_TEXT = 11
    HEAD_TEXT = 12
    EMBED_CODE = 13
    HEAD_CODE = 14


@dataclass(frozen=True, slots=True)
class NativeShape:
    """Sizes of a model and how it runs.

    `codes` ids a codebook and `texts` ids of the text vocabulary; `code_end` and `text_end` end
    a job. `mode` is the precision of the weights: "fp32" (cache float32), "bf16" and "int8"
    (cache bfloat16; int8 weights and inputs have a scale per group of 128, inputs with heavy
    tails 16 bits). `path` forces an instruction set (for tests). `cache_bytes` bounds keys and
    values of all slots; None allows every slot to be full.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    texts: int
    text_end: int
    codebooks: int = 4
    codes: int = 626
    code_end: int = 625
    slots: int = 16
    positions: int = 2048
    threads: int = 1
    mode: Mode = "int8"
    path: Path = "best"
    epsilon: float = 1e-6
    cache_bytes: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """What one step gave; the three are in the same order.

    `hidden` float32 [n, hidden] is what the heads saw, after the last norm. `codes` int32
    [n, codebooks] is what was drawn (text jobs: in the first column).
    """

    outcomes: Sequence[Outcome]
    hidden: NDArray[np.float32]
    codes: NDArray[np.int32]


class NativeStep:
    """A model in the native library. Used by one thread at a time; `close` frees it.

    Raises:
        Unsupported: The library is not there, or this shape or path is not supported.
        OutOfMemory: No memory for the weights.
    """

    def __init__(self, shape: NativeShape) -> None:
        self.shape = shape
        self._library = library.load()
        self._model = self._new()
        self._kinds: dict[int, str] = {}
        self._prompts: dict[int, int] = {}
        self._texts: dict[int, list[int]] = {}

    def _new(self) -> int:
        shape = self.shape
        status = ctypes.c_int32()
        names = [name for name, *_ in library.Shape._fields_]
        values = {name: getattr(shape, name) for name in names}
        values["mode"] = library.MODES.index(shape.mode)
        values["path"] = library.PATHS.index(shape.path)
        if shape.cache_bytes is None:
            values["cache_bytes"] = 2**62
        model = self._library.ott_new(ctypes.byref(library.Shape(**values)), ctypes.byref(status))
        if status.value == library.NO_MEMORY:
            raise OutOfMemory("no memory for the weights of the native CPU step")
        if not model:
            raise Unsupported(f"the native CPU step does not support {shape}")
        return int(model)

    @property
    def path(self) -> str:
        """The instruction set in use: "portable", "avx2" or "avx512"."""
        name: bytes = self._library.ott_path(self._model)
        return name.decode()

    def fill(
        self, part: Part, values: NDArray[np.generic], *, layer: int = 0, first: int = 0
    ) -> None:
        """Give rows [first, first + n) of a part.

        `values` [n, inputs] is float32 or float16, or uint16 holding bfloat16; it is converted
        and packed row by row, and nothing of it is kept.

        Raises:
            LoadFailed: No such rows.
        """
        values = np.ascontiguousarray(np.atleast_2d(values))
        dtype = _DTYPES.get(values.dtype, _BFLOAT16)
        if dtype == _BFLOAT16 and values.dtype != np.uint16:
            raise LoadFailed(f"weights of type {values.dtype} (float32, float16 or bfloat16 bits)")
        width = self._width(part)
        if values.shape[1] != width:
            raise LoadFailed(f"{part.name} has rows of {values.shape[1]} values, not {width}")
        status = self._library.ott_fill(
            self._model, part, layer, first, len(values), dtype, values.ctypes.data
        )
        if status:
            raise LoadFailed(f"no rows {first}..{first + len(values)} in {part.name} {layer}")

    def _width(self, part: Part) -> int:
        if part is Part.DOWN:
            return self.shape.inner
        if part is Part.ROPE:
            return self.shape.hidden // self.shape.heads // 2
        return self.shape.hidden

    @property
    def ready(self) -> bool:
        """Whether every row of every part has been given."""
        return bool(self._library.ott_ready(self._model))

    def start(
        self, slot: int, job: Job, attempt: int = 0, noise: NDArray[np.float32] | None = None
    ) -> None:
        """Put a job into a free slot.

        `noise` float32 [codebooks, codes], if given, divides the probabilities at every step in
        place of the job's own random numbers (how upstream draws under a manual seed).

        Raises:
            OutOfMemory: No memory for one more job now.
            ValueError: The slot is taken, or an id is out of range.
        """
        prompt, sampling = job.prompt, job.sampling
        arrays = (
            np.ascontiguousarray(prompt.ids, dtype=np.int32),
            np.ascontiguousarray(prompt.is_text, dtype=np.uint8),
            np.ascontiguousarray(prompt.injected, dtype=np.float32),
            np.ascontiguousarray(prompt.injected_at, dtype=np.int32),
        )
        if noise is not None:
            noise = np.ascontiguousarray(noise, dtype=np.float32)
        request = library.StartJob(
            slot, int(job.kind == "text"), len(prompt), len(prompt.injected_at),
            *(array.ctypes.data for array in arrays),
            sampling.temperature, sampling.top_p, sampling.repeat_penalty, sampling.top_k,
            job.min_tokens, attempt_seed(job.seed, attempt),
            None if noise is None else noise.ctypes.data,
        )  # fmt: skip
        self._check(self._library.ott_start(self._model, ctypes.byref(request)), "start")
        self._kinds[slot], self._prompts[slot], self._texts[slot] = job.kind, len(prompt), []

    def step(self, prefill: Sequence[Prefill], decode: Sequence[int]) -> StepResult:
        """Run one step over any mix of rows; see `StepModel.step`.

        Raises:
            OutOfMemory: No cache for these rows; nothing was changed.
            ValueError: A row that cannot run (a bug of the caller).
        """
        chunks = np.array([(c.slot, c.start, c.stop) for c in prefill], dtype=np.int32)
        rows = np.array(decode, dtype=np.int32)
        most = len(decode) + sum(c.stop == self._prompts.get(c.slot) for c in prefill)
        outcomes = np.empty((most, 2), dtype=np.int32)
        hidden = np.empty((most, self.shape.hidden), dtype=np.float32)
        codes = np.empty((most, self.shape.codebooks), dtype=np.int32)
        drawn = ctypes.c_int32()
        status = self._library.ott_step(
            self._model, len(chunks), chunks.ctypes.data, len(rows), rows.ctypes.data,
            ctypes.addressof(drawn), outcomes.ctypes.data, hidden.ctypes.data, codes.ctypes.data,
        )  # fmt: skip
        self._check(status, "step")
        results = [Outcome(int(slot), _KINDS[kind]) for slot, kind in outcomes[: drawn.value]]
        self._keep_text(results, codes)
        return StepResult(results, hidden[: drawn.value], codes[: drawn.value])

    def _keep_text(self, outcomes: Sequence[Outcome], codes: NDArray[np.int32]) -> None:
        for outcome, row in zip(outcomes, codes, strict=False):
            if outcome.kind == "token" and self._kinds[outcome.slot] == "text":
                self._texts[outcome.slot].append(int(row[0]))

    def read(
        self, slot: int, start: int, stop: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Read prompt positions [start, stop) and draw nothing.

        Returns hidden [n, hidden] and logits of every position: [n, codebooks, codes] for a
        speech job, [n, texts] for a text job. For self-tests and for measuring precision.

        Raises:
            OutOfMemory: As for `step`.
            ValueError: Not the next positions of this slot's prompt.
        """
        shape, n = self.shape, stop - start
        wide = (shape.texts,) if self._kinds[slot] == "text" else (shape.codebooks, shape.codes)
        hidden = np.empty((n, shape.hidden), dtype=np.float32)
        logits = np.empty((n, *wide), dtype=np.float32)
        status = self._library.ott_read(
            self._model, slot, start, stop, hidden.ctypes.data, logits.ctypes.data
        )
        self._check(status, "read")
        return hidden, logits

    def text(self, slot: int) -> list[int]:
        """The ids that a text job has drawn so far, without the end token."""
        return list(self._texts[slot])

    def stop(self, slot: int) -> None:
        """Free a slot; free already is fine."""
        self._library.ott_stop(self._model, slot)
        for kept in (self._kinds, self._prompts, self._texts):
            kept.pop(slot, None)

    @property
    def weight_bytes(self) -> int:
        """What the weights occupy."""
        return int(self._library.ott_weight_bytes(self._model))

    def cache_bytes(self, *, used: bool = False) -> int:
        """What keys and values occupy; `used`: only those of live slots."""
        return int(self._library.ott_cache_bytes(self._model, int(used)))

    def close(self) -> None:
        """Free everything; twice is fine."""
        if self._model:
            self._library.ott_free(self._model)
            self._model = 0

    def __del__(self) -> None:
        """Free what was not closed."""
        if getattr(self, "_model", 0):
            self.close()

    @staticmethod
    def _check(status: int, what: str) -> None:
        if status == library.NO_MEMORY:
            raise OutOfMemory("no memory for the keys and values of these utterances")
        if status != library.OK:
            raise ValueError(f"native {what}: the call does not fit the model's state")
