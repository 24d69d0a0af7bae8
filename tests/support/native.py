"""Native steps of a checkpoint, and running jobs on them by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.chattts.native.step import NativeShape, NativeStep
from ollama_tts.backends.chattts.native_model import _parts
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, OutcomeKind, Prefill, Prompt, Sampling
from ollama_tts.errors import Unsupported

TEXT_END = 11


def shape_of(checkpoint: Checkpoint) -> NativeShape:
    """The sizes of a checkpoint."""
    gpt = checkpoint.config.gpt
    return NativeShape(
        hidden=gpt.hidden_size,
        layers=gpt.num_hidden_layers,
        heads=gpt.num_attention_heads,
        inner=gpt.intermediate_size,
        texts=gpt.num_text_tokens,
        text_end=TEXT_END,
        epsilon=gpt.rms_norm_eps,
        positions=512,
        mode="fp32",
    )


def native_step(checkpoint: Checkpoint, **changes: object) -> NativeStep:
    """A filled native step; `changes` to its shape."""
    step = NativeStep(replace(shape_of(checkpoint), **changes))  # type: ignore[arg-type]
    for part, layer, values in _parts(checkpoint):
        step.fill(part, values, layer=layer)
    assert step.ready
    return step


def paths() -> list[str]:
    """The instruction sets that this machine runs."""
    sizes = NativeShape(hidden=32, layers=1, heads=1, inner=32, texts=8, text_end=1, slots=1)
    found = []
    for path in ("portable", "avx2", "avx512"):
        try:
            NativeStep(replace(sizes, path=path)).close()
            found.append(path)
        except Unsupported:
            continue
    return found


def make_job(
    checkpoint: Checkpoint,
    seed: int,
    *,
    length: int = 12,
    max_tokens: int = 40,
    kind: Literal["speech", "text"] = "speech",
    sampling: Sampling | None = None,
    min_tokens: int = 0,
) -> Job:
    """A job with a random prompt: text, a speaker vector, and some audio codes at the end."""
    rng = np.random.default_rng(seed)
    gpt = checkpoint.config.gpt
    ids = rng.integers(0, gpt.num_audio_tokens - 1, (length, gpt.num_vq)).astype(np.int32)
    is_text = np.arange(length) < max(1, length - 2)
    speaker = rng.normal(0, 1, (1, gpt.hidden_size)).astype(np.float32)
    at = np.array([min(1, length - 1)], np.int32)
    prompt = Prompt(ids, is_text, speaker, at)
    chosen = sampling or Sampling(temperature=0.9, top_p=0.9, top_k=30)
    return Job(prompt, chosen, seed, max_tokens, min_tokens=min_tokens, kind=kind)


@dataclass
class Made:
    """What a job became: the codes drawn, the hidden states behind them, how it ended."""

    codes: list[NDArray[np.int32]] = field(default_factory=list)
    hidden: list[NDArray[np.float32]] = field(default_factory=list)
    last: OutcomeKind = "token"

    def bits(self) -> tuple[bytes, bytes, str]:
        """All of it, for comparing exactly."""
        codes, hidden = np.array(self.codes), np.array(self.hidden)
        return codes.tobytes(), hidden.tobytes(), self.last


class Runs:
    """Jobs on one native step, driven by hand."""

    def __init__(self, step: NativeStep) -> None:
        self.step = step
        self.made: dict[int, Made] = {}
        self._jobs: dict[int, Job] = {}
        self._read: dict[int, int] = {}

    def start(self, slot: int, job: Job, noise: NDArray[np.float32] | None = None) -> None:
        self.step.start(slot, job, noise=noise)
        self.made[slot], self._jobs[slot], self._read[slot] = Made(), job, 0

    def turn(self, slots: Sequence[int], *, cut: int = 4096) -> None:
        """One step of these slots: a chunk of the prompt, or one more token."""
        prefill, decode = [], []
        for slot in slots:
            read, length = self._read[slot], len(self._jobs[slot].prompt)
            if read < length:
                self._read[slot] = min(length, read + cut)
                prefill.append(Prefill(slot, read, self._read[slot]))
            else:
                decode.append(slot)
        result = self.step.step(prefill, decode)
        for i, outcome in enumerate(result.outcomes):
            made = self.made[outcome.slot]
            made.last = outcome.kind
            if outcome.kind == "token":
                made.codes.append(result.codes[i].copy())
                made.hidden.append(result.hidden[i].copy())

    def live(self) -> list[int]:
        """The slots whose job goes on."""
        return [
            slot
            for slot, made in self.made.items()
            if made.last == "token" and len(made.codes) < self._jobs[slot].max_tokens
        ]

    def finish(self, slot: int, *, cut: int = 4096) -> Made:
        """Run one job to its end, alone, and free its slot."""
        while slot in self.live():
            self.turn([slot], cut=cut)
        return self.stop(slot)

    def stop(self, slot: int) -> Made:
        self.step.stop(slot)
        del self._jobs[slot]
        return self.made.pop(slot)
