"""A `StepModel` without a model: what it says and where it fails is written down."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ollama_tts.engine.step_model import (
    Geometry,
    Job,
    Outcome,
    Prefill,
    Prompt,
    Sampling,
    Window,
)

Call = Literal["start", "step", "render"]
Fault = Callable[[Call, Sequence[int]], None]
"""Called with the seeds of a call's jobs before it does anything; may raise."""


def job(
    seed: int,
    *,
    prompt: int = 5,
    max_tokens: int = 2000,
    kind: Literal["speech", "text"] = "speech",
) -> Job:
    """A job that a scripted model knows by its seed."""
    ids = np.zeros((prompt, 4), np.int32)
    nothing = np.zeros((0, 8), np.float32)
    reads = Prompt(ids, np.ones(prompt, np.bool_), nothing, np.zeros(0, np.int32))
    return Job(reads, Sampling(), seed, max_tokens, kind=kind)


def sound(seed: int, samples: int) -> NDArray[np.float32]:
    """All samples of a job: sample i tells the job and i, exactly."""
    return (np.arange(samples, dtype=np.float32) * 64 + seed % 64).astype(np.float32)


def always(tokens: int) -> Callable[[int, int], int]:
    """Every job has this many tokens."""
    return lambda _seed, _attempt: tokens


@dataclass
class _Live:
    job: Job
    attempt: int
    read: int = 0
    tokens: int = 0


@dataclass
class ScriptedModel:
    """Makes `lengths(seed, attempt)` tokens of each job, then ends it.

    `slots` is what it has room for. `fault` may raise in any call. `bad` seeds fail: their row
    ("row") or their sound ("sound") is not finite. All misuse is an AssertionError. `left`
    counts the slots in use when the model was closed.
    """

    slots: int = 4
    lengths: Callable[[int, int], int] = lambda _seed, _attempt: 30
    fault: Fault = lambda _call, _seeds: None
    bad: dict[int, Literal["row", "sound"]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    most_rows: int = 0
    left: int | None = None
    live: dict[int, _Live] = field(default_factory=dict)
    thread: int | None = None

    @property
    def geometry(self) -> Geometry:
        return Geometry(slots=self.slots, positions=4096)

    def start(self, slot: int, job: Job, attempt: int) -> None:
        self._called("start", [job.seed])
        assert 0 <= slot < self.slots
        assert slot not in self.live
        self.live[slot] = _Live(job, attempt)

    def step(self, prefill: Sequence[Prefill], decode: Sequence[int]) -> Sequence[Outcome]:
        slots = [chunk.slot for chunk in prefill] + list(decode)
        assert slots
        assert len(set(slots)) == len(slots)
        self._called("step", [self.live[slot].job.seed for slot in slots])
        self.most_rows = max(self.most_rows, len(slots))
        drawing = [chunk.slot for chunk in prefill if self._read(chunk)]
        for slot in decode:
            assert self.live[slot].tokens > 0
        return [self._draw(slot) for slot in (*drawing, *decode)]

    def render(self, windows: Sequence[Window]) -> Sequence[NDArray[np.float32]]:
        self._called("render", [self.live[window.slot].job.seed for window in windows])
        return [self._sound(window) for window in windows]

    def text(self, slot: int) -> list[int]:
        return list(range(self.live[slot].tokens))

    def stop(self, slot: int) -> None:
        del self.live[slot]

    def memory_bytes(self) -> int:
        return len(self.live)

    def close(self) -> None:
        assert self.left is None
        self.left = len(self.live)

    def _called(self, call: Call, seeds: Sequence[int]) -> None:
        self.thread = self.thread or threading.get_ident()
        assert self.thread == threading.get_ident()
        self.calls.append(call)
        self.fault(call, seeds)

    def _read(self, chunk: Prefill) -> bool:
        live = self.live[chunk.slot]
        assert live.read == chunk.start < chunk.stop <= len(live.job.prompt)
        live.read = chunk.stop
        return live.read == len(live.job.prompt)

    def _draw(self, slot: int) -> Outcome:
        live = self.live[slot]
        if self.bad.get(live.job.seed) == "row":
            return Outcome(slot, "failed")
        if live.tokens >= self.lengths(live.job.seed, live.attempt):
            return Outcome(slot, "end")
        live.tokens += 1
        return Outcome(slot, "token")

    def _sound(self, window: Window) -> NDArray[np.float32]:
        live = self.live[window.slot]
        assert window.stop <= live.tokens
        whole = sound(live.job.seed, window.keep_stop)[window.keep_start :]
        return whole * np.nan if self.bad.get(live.job.seed) == "sound" else whole
