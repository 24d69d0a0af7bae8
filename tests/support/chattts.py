"""Running a ChatTTS step model by hand, without the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from ollama_tts.backends.base import Runner
from ollama_tts.backends.chattts.gpt import Precision
from ollama_tts.backends.chattts.sampler import Noise, exponential
from ollama_tts.backends.chattts.step_model import Plan, TorchStepModel
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, OutcomeKind, Prefill, Window
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.store.model import LocalModel
from tests.support.local_models import local_model

CPU = torch.device("cpu")
FP32 = Precision("fp32", torch.float32, decode_tile=2)


def step_model(
    checkpoint: Checkpoint,
    *,
    precision: Precision = FP32,
    slots: int = 16,
    block: bool = False,
    noise: Noise = exponential,
    text_end: int = 0,
    positions: int = 1024,
) -> TorchStepModel:
    """A torch step model on the CPU."""
    devices = (CPU,) * checkpoint.config.gpt.num_hidden_layers
    plan = Plan(precision, CPU, devices, slots, positions, threads=1, block=block)
    return TorchStepModel(checkpoint, plan, text_end=text_end, noise=noise)


@dataclass(frozen=True)
class Made:
    """What a job became: codes int32 [n, codebooks], how it ended, its sound."""

    codes: NDArray[np.int32]
    outcome: OutcomeKind
    sound: NDArray[np.float32]


def run_alone(model: TorchStepModel, job: Job, slot: int = 0, *, cut: int = 4096) -> Made:
    """Run one job to its end, its prompt read in pieces of `cut`, and render it at once."""
    model.start(slot, job, 0)
    last: OutcomeKind = "token"
    for start in range(0, len(job.prompt), cut):
        stop = min(len(job.prompt), start + cut)
        for outcome in model.step([Prefill(slot, start, stop)], []):
            last = outcome.kind
    while last == "token" and len(model.codes(slot)) < job.max_tokens:
        last = model.step([], [slot])[0].kind
    codes = model.codes(slot)
    sound = np.empty(0, np.float32)
    if len(codes) and job.kind == "speech":
        total = model.geometry.samples(len(codes))
        sound = model.render([Window(slot, 0, len(codes), 0, total, final=True)])[0]
    model.stop(slot)
    return Made(codes, last, sound)


def run_together(model: TorchStepModel, jobs: Sequence[Job]) -> list[NDArray[np.int32]]:
    """Run jobs side by side from the same step on; their codes."""
    for slot, job in enumerate(jobs):
        model.start(slot, job, 0)
    going = set()
    for outcome in model.step([Prefill(i, 0, len(j.prompt)) for i, j in enumerate(jobs)], []):
        if outcome.kind == "token":
            going.add(outcome.slot)
    while going:
        full = {s for s in going if len(model.codes(s)) >= jobs[s].max_tokens}
        going -= full
        outcomes = model.step([], sorted(going)) if going else []
        going -= {o.slot for o in outcomes if o.kind != "token"}
    made = [model.codes(slot) for slot in range(len(jobs))]
    for slot in range(len(jobs)):
        model.stop(slot)
    return made


def stored(checkpoint: Checkpoint, **changes: object) -> LocalModel:
    """A stored model of a checkpoint's files."""
    model = local_model("chattts-test", "chattts")
    return replace(model, files=checkpoint.files, **changes)  # type: ignore[arg-type]


async def say(runner: Runner, utterance: Utterance) -> tuple[NDArray[np.float32], list[Piece]]:
    """An utterance's whole sound, and the pieces that it came in."""
    pieces = [piece async for piece in runner.speak(utterance)]
    return np.concatenate([piece.samples for piece in pieces]), pieces
