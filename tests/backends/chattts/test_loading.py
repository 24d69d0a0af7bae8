"""What load options decide, and running out of memory in words that callers know."""

import os
from dataclasses import replace

import pytest
import torch

from ollama_tts.backends.chattts import loading
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.estimate import estimate, estimate_reference, fitted
from ollama_tts.backends.chattts.graphs import GraphedStep, reach_bucket, row_bucket
from ollama_tts.backends.chattts.loading import choose
from ollama_tts.backends.chattts.memory import guarded
from ollama_tts.backends.chattts.self_test import self_test
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.errors import LoadFailed, OutOfMemory, Unsupported
from ollama_tts.options import LoadOptions
from tests.backends.chattts.conftest import prompter
from tests.support.chattts import CPU, step_model

CONFIG = ChatTTSConfig()
CUDA = torch.device("cuda", 0)


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that says it has two GPUs; nothing is put on them."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.parametrize("quantization", ["fp32", "fp16", "bf16", "int8", "int4"])
def test_torch_on_a_cpu(quantization: str) -> None:
    choice = choose(CONFIG, LoadOptions(backend="torch", quantization=quantization, num_gpu=0))
    assert (choice.implementation, choice.quantization) == ("torch", quantization)
    assert (choice.device, choice.slots, choice.positions) == (CPU, 16, 2048)
    assert 1 <= choice.threads <= (os.cpu_count() or 1)


def test_automatic_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = choose(CONFIG, LoadOptions(num_gpu=0, num_ctx=4096, num_batch=3, num_thread=2))
    assert (choice.implementation, choice.quantization) == ("native", "int8")
    assert (choice.slots, choice.positions, choice.threads) == (3, 4096, 2)
    monkeypatch.setattr(loading, "find", lambda: None)
    choice = choose(CONFIG, LoadOptions(num_gpu=0))
    assert (choice.implementation, choice.quantization) == ("torch", "fp32")


@pytest.mark.usefixtures("with_gpu")
def test_on_a_gpu() -> None:
    choice = choose(CONFIG, LoadOptions(main_gpu=1))
    assert (choice.device, choice.layers_on_gpu) == (torch.device("cuda", 1), 20)
    assert (choice.implementation, choice.quantization, choice.slots) == ("torch", "bf16", 64)
    assert choice.notes["compile"] == "cuda graphs"
    split = choose(CONFIG, LoadOptions(num_gpu=5, quantization="int4"))
    assert (split.layers_on_gpu, split.compute) == (5, torch.bfloat16)
    assert choose(CONFIG, LoadOptions(num_gpu=99)).layers_on_gpu == 20
    assert choose(CONFIG, LoadOptions(num_gpu=0)).device == CPU
    with pytest.raises(LoadFailed, match="'main_gpu' must be 0 to 1 on this machine, not 7"):
        choose(CONFIG, LoadOptions(main_gpu=7))
    with pytest.raises(Unsupported, match="backend native runs on the CPU"):
        choose(CONFIG, LoadOptions(backend="native"))


def test_estimates() -> None:
    """The official sizes: 1.2 GB as it is on disk, the DVAE apart; int8 a third of that."""
    cpu = choose(CONFIG, LoadOptions(backend="torch", quantization="fp32", num_gpu=0))
    whole = estimate(CONFIG, replace(cpu, positions=0))
    assert whole.total_bytes == pytest.approx(1.06e9, rel=0.03)
    assert whole.vram_bytes == 0
    small = estimate(CONFIG, replace(cpu, positions=0, quantization="int8"))
    assert small.total_bytes == pytest.approx(0.41e9, rel=0.05)
    gpu = replace(cpu, device=CUDA, quantization="bf16", layers_on_gpu=20, slots=64)
    full, half = estimate(CONFIG, gpu), estimate(CONFIG, replace(gpu, layers_on_gpu=10))
    assert full.vram_bytes == full.total_bytes > 7e9
    assert half.vram_bytes == pytest.approx(full.vram_bytes / 2, rel=0.05)
    assert estimate_reference(CONFIG, CPU).total_bytes == pytest.approx(1.13e9, rel=0.05)


def test_a_small_gpu_gets_fewer_slots() -> None:
    cpu = choose(CONFIG, LoadOptions(backend="torch", quantization="bf16", num_gpu=0))
    gpu = replace(cpu, device=CUDA, layers_on_gpu=20, slots=64)
    assert fitted(CONFIG, gpu, 24 << 30).slots == 64
    assert fitted(CONFIG, gpu, 6 << 30).slots == 32
    assert fitted(CONFIG, gpu, 1 << 30).slots == 2
    assert fitted(CONFIG, gpu, 0).slots == 1
    for free in range(1 << 30, 16 << 30, 1 << 30):
        small = fitted(CONFIG, gpu, free)
        assert small.slots == 1 or estimate(CONFIG, small).vram_bytes < free


def test_buckets_cover_everything() -> None:
    for rows in range(1, 65):
        assert rows <= row_bucket(rows, 64) <= 2 * rows
    assert row_bucket(3, 3) == 3
    for positions in range(1, 2049, 7):
        assert positions <= reach_bucket(positions, 2048) <= max(256, 2 * positions)
    assert reach_bucket(900, 1000) == 1000


def test_on_a_cpu_a_graphed_step_just_runs() -> None:
    seen = []

    def step(rows: int, reach: int) -> tuple[torch.Tensor, ...]:
        seen.append((rows, reach))
        return (torch.ones(rows),)

    assert len(GraphedStep(step, CPU)(3, 256)[0]) == 3
    assert seen == [(3, 256)]


def test_out_of_memory_has_one_name() -> None:
    with pytest.raises(OutOfMemory, match="while doing it"), guarded("doing it"):
        torch.empty(1 << 60, dtype=torch.uint8)
    with pytest.raises(OutOfMemory), guarded("doing it"):
        raise MemoryError
    with pytest.raises(OutOfMemory), guarded("doing it"):
        raise torch.OutOfMemoryError
    with pytest.raises(RuntimeError, match="other"), guarded("doing it"):
        raise RuntimeError("other")


def test_self_test_passes_and_leaves_nothing(tiny: Checkpoint) -> None:
    model = step_model(tiny)
    before = model.memory_bytes()
    self_test(model, prompter(tiny), strict=True)
    assert model.memory_bytes() == before
    self_test(step_model(tiny, slots=1), prompter(tiny), strict=True)


def test_self_test_names_the_versions(tiny: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    model = step_model(tiny)
    decode = model._decode

    def touching(slots: list[int]) -> dict[int, torch.Tensor]:
        """What a kernel does whose rows touch each other."""
        made = decode(slots)
        return {slot: h + 0.1 * (len(made) - 1) for slot, h in made.items()}

    monkeypatch.setattr(model, "_decode", touching)
    with pytest.raises(
        LoadFailed, match=rf"different in a batch with torch {torch.__version__[:3]}"
    ):
        self_test(model, prompter(tiny), strict=True)
    self_test(model, prompter(tiny), strict=False)
    monkeypatch.setattr(
        model, "_decode", lambda s: {i: h * torch.nan for i, h in decode(s).items()}
    )
    for slot in range(2):
        model.stop(slot)
    with pytest.raises(LoadFailed, match="not finite with torch"):
        self_test(model, prompter(tiny), strict=False)


def test_capture_meets_every_shape(tiny: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    model = step_model(tiny, block=True, slots=5, positions=600)
    seen = set()

    def note(rows: int, reach: int) -> tuple[torch.Tensor, ...]:
        seen.add((rows, reach))
        return ()

    monkeypatch.setattr(model, "_graphed", note)
    model.capture()
    assert seen == {(r, p) for r in (1, 2, 4, 5) for p in (256, 512, 600)}
