"""A row's tokens are the same bits alone, in any company, in any slot, however it was read."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from torch import Tensor

from ollama_tts.backends.chattts.gpt import Precision
from ollama_tts.backends.chattts.prompt import RefineLevels, VoicePrompt
from ollama_tts.backends.chattts.speaker import Statistics, normalized
from ollama_tts.backends.chattts.step_model import Plan, TorchStepModel
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, Prefill, Sampling, Window
from ollama_tts.errors import OutOfMemory
from tests.backends.chattts.conftest import prompter, voice
from tests.support.chattts import CPU, FP32, run_alone, run_together, step_model

T = TypeVar("T")
PRECISIONS = {
    "fp32": FP32,
    "bf16": Precision("bf16", torch.bfloat16, 4),
    "fp16": Precision("fp16", torch.float16, 4),
    "int8": Precision("int8", torch.float32, 2),
    "int4": Precision("int4", torch.float32, 2),
}
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "hello", "good", "morning"]


def jobs(checkpoint: Checkpoint, count: int, tokens: int = 24) -> list[Job]:
    """Different texts, voices, seeds and settings."""
    hidden = checkpoint.config.gpt.hidden_size
    statistics = Statistics(checkpoint.config.spk_stat, hidden)
    made = []
    for i in range(count):
        text = " ".join(WORDS[(i * 3 + j) % len(WORDS)] for j in range(2 + 3 * i % 47))
        who = VoicePrompt(normalized(statistics.draw(i)))
        prompt = prompter(checkpoint).speech(text, "en", who)
        sampling = Sampling(0.3 + 0.1 * (i % 5), 0.7, (20, 5, 0)[i % 3], 1.05 + 0.01 * (i % 4))
        made.append(Job(prompt, sampling, seed=1000 + i, max_tokens=tokens + i % 7))
    return made


@pytest.mark.parametrize(
    ("name", "block"), [*((name, False) for name in PRECISIONS), ("fp32", True), ("bf16", True)]
)
def test_any_batch_equals_alone(tiny: Checkpoint, name: str, block: bool) -> None:
    model = step_model(tiny, precision=PRECISIONS[name], block=block)
    every = jobs(tiny, 16, tokens=8)
    alone = [run_alone(model, job).codes for job in every]
    assert len({a.tobytes() for a in alone}) == 16
    for count in (2, 7, 16):
        for ours, theirs in zip(run_together(model, every[:count]), alone, strict=False):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("cut", [1, 7, 32, 50])
def test_prompt_read_in_pieces(tiny: Checkpoint, cut: int) -> None:
    model = step_model(tiny)
    job = jobs(tiny, 15)[14]
    assert len(job.prompt) > 40
    whole = run_alone(model, job)
    pieces = run_alone(model, job, slot=9, cut=cut)
    np.testing.assert_array_equal(pieces.codes, whole.codes)
    np.testing.assert_array_equal(pieces.sound, whole.sound)


@pytest.fixture(scope="module")
def shared(tiny: Checkpoint) -> tuple[TorchStepModel, list[Job], list[NDArray[np.int32]]]:
    model = step_model(tiny, slots=6)
    every = jobs(tiny, 9, tokens=6)
    return model, every, [run_alone(model, job).codes for job in every]


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_any_schedule_equals_alone(
    shared: tuple[TorchStepModel, list[Job], list[NDArray[np.int32]]], data: st.DataObject
) -> None:
    """Late joins, waiting rows, cancels, free slots in any order; all with the real tiny model."""
    model, every, alone = shared
    waiting = list(data.draw(st.permutations(range(len(every)))))
    active: dict[int, int] = {}
    while waiting or active:
        free = [s for s in range(6) if s not in active]
        prefill = []
        if waiting and free and (not active or data.draw(st.booleans())):
            slot, index = data.draw(st.sampled_from(free)), waiting.pop()
            model.start(slot, every[index], 0)
            prefill = [Prefill(slot, 0, len(every[index].prompt))]
            active[slot] = index
        running = [s for s in active if s not in {p.slot for p in prefill}]
        stepped = [s for s in running if data.draw(st.booleans())]
        for outcome in model.step(prefill, stepped):
            slot, index = outcome.slot, active[outcome.slot]
            made = model.codes(slot)
            np.testing.assert_array_equal(made, alone[index][: len(made)])
            ended = outcome.kind == "end" or len(made) == every[index].max_tokens
            if ended:
                assert len(made) == len(alone[index])
            if ended or data.draw(st.integers(0, 9)) == 0:
                model.stop(slot)
                del active[slot]


def test_attempts_differ(tiny: Checkpoint) -> None:
    model = step_model(tiny)
    job = replace(jobs(tiny, 1)[0], sampling=Sampling(temperature=1.0))
    seen = set()
    for attempt in range(3):
        model.start(0, job, attempt)
        model.step([Prefill(0, 0, len(job.prompt))], [])
        seen.add(model.codes(0).tobytes())
        model.stop(0)
    assert len(seen) == 3


def test_a_broken_row_is_alone(tiny: Checkpoint) -> None:
    """NaN in one row's voice: that row fails, its neighbour's tokens stay what they were."""
    for block in (False, True):
        model = step_model(tiny, block=block)
        good, bad = jobs(tiny, 2)
        expected = run_alone(model, good).codes
        broken = replace(bad.prompt, injected=bad.prompt.injected * np.float32("nan"))
        model.start(0, replace(bad, prompt=broken), 0)
        model.start(1, good, 0)
        reads = [Prefill(0, 0, len(broken)), Prefill(1, 0, len(good.prompt))]
        kinds = {o.slot: o.kind for o in model.step(reads, [])}
        assert kinds == {0: "failed", 1: "token"}
        while len(model.codes(1)) < len(expected):
            model.step([], [1])
        np.testing.assert_array_equal(model.codes(1), expected)
        model.stop(0)
        model.stop(1)
        np.testing.assert_array_equal(run_alone(model, good, slot=0).codes, expected)


def test_layers_on_two_devices_say_the_same(tiny: Checkpoint) -> None:
    """The path of `num_gpu` n, with the CPU under two names."""
    job = jobs(tiny, 1)[0]
    whole = run_alone(step_model(tiny), job)
    plan = Plan(FP32, CPU, (torch.device("cpu", 0), CPU), slots=1, positions=1024)
    split = run_alone(TorchStepModel(tiny, plan, text_end=0), job)
    np.testing.assert_array_equal(split.codes, whole.codes)
    np.testing.assert_array_equal(split.sound, whole.sound)


@pytest.mark.parametrize("block", [False, True])
def test_attention_written_out_is_the_fused_one(tiny: Checkpoint, block: bool) -> None:
    job = jobs(tiny, 3)[2]
    fused = run_alone(step_model(tiny, block=block), job)
    plan = Plan(FP32, CPU, (CPU, CPU), slots=16, positions=1024, block=block, fused_attention=False)
    written = run_alone(TorchStepModel(tiny, plan, text_end=0), job)
    np.testing.assert_array_equal(written.codes, fused.codes)
    np.testing.assert_allclose(written.sound, fused.sound, atol=1e-5)


def test_running_out_of_memory_changes_nothing(
    tiny: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever call fails, the same call made again gives what it would have given."""
    model = step_model(tiny)
    job = jobs(tiny, 1)[0]
    expected = run_alone(model, job)
    real = torch.nn.functional.linear
    calls = 0

    def failing(x: Tensor, weight: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls % 41 == 0:
            raise torch.OutOfMemoryError
        return real(x, weight)

    monkeypatch.setattr(torch.nn.functional, "linear", failing)

    def insist(call: Callable[[], T]) -> T:
        for _ in range(9):
            with contextlib.suppress(OutOfMemory):
                return call()
        raise AssertionError("never went through")

    model.start(0, job, 0)
    kind = insist(lambda: model.step([Prefill(0, 0, len(job.prompt))], []))[0].kind
    while kind == "token" and len(model.codes(0)) < job.max_tokens:
        kind = insist(lambda: model.step([], [0]))[0].kind
    np.testing.assert_array_equal(model.codes(0), expected.codes)
    total = model.geometry.samples(len(expected.codes))
    half = total // 2
    parts = [
        insist(partial(model.render, [w]))[0]
        for w in (
            Window(0, 0, len(expected.codes), 0, half, final=False),
            Window(0, 0, len(expected.codes), half, total, final=True),
        )
    ]
    assert calls > 200
    np.testing.assert_array_equal(np.concatenate(parts), expected.sound)


def test_no_room_for_one_more(tiny: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    model = step_model(tiny)
    first, second = jobs(tiny, 2)
    expected = run_alone(model, first).codes

    def full(*shape: object, **kwargs: object) -> Tensor:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")

    model.start(0, first, 0)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "empty", full)
        with pytest.raises(OutOfMemory, match="making room"):
            model.start(1, second, 0)
    model.step([Prefill(0, 0, len(first.prompt))], [])
    while len(model.codes(0)) < len(expected):
        model.step([], [0])
    np.testing.assert_array_equal(model.codes(0), expected)
    model.start(1, second, 0)


@pytest.mark.parametrize("block", [False, True])
def test_refining_and_speaking_share_a_step(mini: Checkpoint, block: bool) -> None:
    """A job that writes text beside one that speaks: each does what it does alone."""
    made = prompter(mini)
    text = "Good morning, how are you today."
    writes = Job(made.refine(text, "en", RefineLevels()), Sampling(), 1, 40, kind="text")
    speaks = Job(made.speech(text, "en", voice(mini, "ben")), Sampling(), 1, 40)
    model = step_model(mini, block=block, text_end=made.refine_end, slots=4)
    alone = [run_alone(model, job) for job in (writes, speaks)]
    assert alone[0].outcome == "end"
    assert made.refined(alone[0].codes[:, 0].tolist()) == "good morning, how are you today."
    together = run_together(model, [writes, speaks])
    for ours, theirs in zip(together, alone, strict=True):
        np.testing.assert_array_equal(ours, theirs.codes)
