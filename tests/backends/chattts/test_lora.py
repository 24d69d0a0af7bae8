"""A LoRA merged or laid over: the same tokens; and rows without one are as if there were none."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.lora import LaidLora, TunedCheckpoint, read_lora
from ollama_tts.backends.chattts.lora_files import plan_lora
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job
from ollama_tts.errors import InvalidWeights
from tests.backends.chattts.test_batches import jobs
from tests.support.chattts import CPU, run_alone, run_together, step_model
from tests.support.lora import PREFIX, files_of, write_lora


@pytest.fixture(scope="module")
def files(tiny: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Path]]:
    """Two LoRAs, one of all kinds of matrices and one of some."""
    folder = tmp_path_factory.mktemp("lora")
    return [
        write_lora(folder / "one", tiny.config, seed=1),
        write_lora(folder / "two", tiny.config, seed=2, rank=3, kinds=("k_proj", "up_proj")),
    ]


def laid(tiny: Checkpoint, adapters: dict[str, Path]) -> LaidLora:
    lora = read_lora(adapters, tiny.config)
    assert lora is not None
    return LaidLora(lora, (CPU,) * tiny.config.gpt.num_hidden_layers, torch.float32)


def tokens(checkpoint: Checkpoint, every: list[Job]) -> list[NDArray[np.int32]]:
    model = step_model(checkpoint)
    return [run_alone(model, job).codes for job in every]


def test_merged_is_what_peft_adds(tiny: Checkpoint, files: list[dict[str, Path]]) -> None:
    lora = read_lora(files[0], tiny.config)
    assert lora is not None
    merged = TunedCheckpoint(tiny.files, lora)
    stored = load_file(files[0]["adapter_model.safetensors"])
    for module in ("layers.0.self_attn.v_proj", "layers.1.mlp.down_proj"):
        a, b = (stored[f"{PREFIX}{module}.lora_{half}.weight"] for half in "AB")
        base = tiny.tensor(layout.GPT, f"{module}.weight", torch.float32)
        ours = merged.tensor(layout.GPT, f"{module}.weight", torch.float32)
        torch.testing.assert_close(ours, base + 2.0 * b @ a)
    for name in ("norm.weight", "layers.0.input_layernorm.weight"):
        same = tiny.tensor(layout.GPT, name, torch.float32)
        assert torch.equal(merged.tensor(layout.GPT, name, torch.float32), same)


@pytest.mark.parametrize("which", [0, 1])
def test_laid_over_gives_the_tokens_of_merged(
    tiny: Checkpoint, files: list[dict[str, Path]], which: int
) -> None:
    lora = read_lora(files[which], tiny.config)
    assert lora is not None
    every = jobs(tiny, 12, tokens=16)
    merged = tokens(TunedCheckpoint(tiny.files, lora), every)
    over = laid(tiny, files[which])
    applied = tokens(tiny, [replace(job, adapter=over) for job in every])
    plain = tokens(tiny, every)
    for ours, theirs in zip(applied, merged, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert sum(not np.array_equal(p, m) for p, m in zip(plain, merged, strict=True)) > 8


@pytest.mark.parametrize("block", [False, True])
def test_rows_of_several_loras_and_of_none_in_one_step_are_as_if_alone(
    tiny: Checkpoint, files: list[dict[str, Path]], *, block: bool
) -> None:
    loras = [None, *(laid(tiny, each) for each in files)]
    every = jobs(tiny, 9, tokens=8)
    mixed = [replace(job, adapter=loras[i % 3]) for i, job in enumerate(every)]
    model = step_model(tiny, block=block)
    alone = [run_alone(model, job).codes for job in mixed]
    for ours, theirs in zip(run_together(model, mixed), alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(alone[::3], tokens(tiny, every[::3]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_without_a_config_rank_is_the_tensors_and_the_scale_is_one(
    tiny: Checkpoint, files: list[dict[str, Path]]
) -> None:
    alone = {"my.safetensors": files[0]["adapter_model.safetensors"]}
    plan = plan_lora(alone, tiny.config)
    assert plan is not None
    assert {module.scale for module in plan.modules.values()} == {1.0}
    told = plan_lora(files[0], tiny.config)
    assert told is not None
    assert {module.scale for module in told.modules.values()} == {2.0}


def test_rslora_and_patterns_change_rank_and_scale(tiny: Checkpoint, tmp_path: Path) -> None:
    adapters = write_lora(tmp_path, tiny.config, settings={"use_rslora": True, "lora_alpha": 6})
    plan = plan_lora(adapters, tiny.config)
    assert plan is not None
    assert {module.scale for module in plan.modules.values()} == {3.0}
    settings = adapters["adapter_config.json"]
    patterned = {"r": 9, "rank_pattern": {"proj": 4}, "use_rslora": False, "lora_alpha": 2,
                 "alpha_pattern": {"self_attn.q_proj": 8}}  # fmt: skip
    raw = json.loads(settings.read_text()) | patterned
    settings.write_text(json.dumps(raw))
    with pytest.raises(InvalidWeights, match=r"lora_A of .* is \[4, \d+\], not \[9, \d+\]"):
        plan_lora(adapters, tiny.config)
    kinds = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    settings.write_text(json.dumps(raw | {"rank_pattern": dict.fromkeys(kinds, 4)}))
    plan = plan_lora(adapters, tiny.config)
    assert plan is not None
    assert plan.modules["layers.1.self_attn.q_proj"].scale == 2.0
    assert plan.modules["layers.1.self_attn.k_proj"].scale == 0.5


Change = Callable[[dict[str, torch.Tensor]], object]


def _set(name: str, value: torch.Tensor) -> Change:
    return lambda tensors: tensors.__setitem__(f"{PREFIX}{name}", value)


DAMAGED: list[tuple[Change, str]] = [
    (_set("layers.0.mlp.gate_proj.lora_A.weight", torch.zeros(4, 63)), r"lora_A of layers\.0\.mlp"),
    (_set("layers.0.mlp.gate_proj.lora_B.weight", torch.zeros(5, 4)), r"\[5, 4\], not \[128, 4\]"),
    (_set("layers.2.mlp.gate_proj.lora_A.weight", torch.zeros(4, 64)), "is no LoRA of a matrix"),
    (_set("layers.0.mlp.gate_proj.lora_magnitude_vector", torch.zeros(4)), "is no LoRA of a"),
    (_set("embed_tokens.lora_embedding_A", torch.zeros(4, 4)), "is no LoRA of a matrix"),
    (_set("layers.0.mlp.up_proj.lora_A.weight", torch.zeros(4, 64).int()), "is I32, not one of"),
    (lambda t: t.pop(f"{PREFIX}layers.0.mlp.up_proj.lora_B.weight"), "lora_B of .* is missing"),
    (lambda t: t.update({"layers.0.mlp.up_proj.lora_A.weight": torch.zeros(4, 64)}), "two tensors"),
]


@pytest.mark.parametrize(("change", "words"), DAMAGED)
def test_tensors_that_do_not_fit_the_model_are_named(
    tiny: Checkpoint, tmp_path: Path, change: Change, words: str
) -> None:
    adapters = write_lora(tmp_path, tiny.config)
    tensors = load_file(adapters["adapter_model.safetensors"])
    change(tensors)
    save_file(tensors, adapters["adapter_model.safetensors"])
    with pytest.raises(InvalidWeights, match=words) as refused:
        plan_lora(adapters, tiny.config)
    assert str(tmp_path) not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"r": 0}, "rank r must be 1 to 256, not 0"),
        ({"lora_alpha": 0}, "lora_alpha must be above 0"),
        ({"peft_type": "IA3"}, "peft_type must be LORA, not 'IA3'"),
        ({"use_dora": True}, "use_dora 'True' cannot be used"),
        ({"bias": "all"}, "bias 'all' cannot be used"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save .* cannot be used"),
        ({"target_modules": ["lm_head"]}, "target module 'lm_head' is not one of q_proj"),
        ({"r": "many"}, "is not a PEFT config"),
    ],
)
def test_what_is_more_or_other_than_lora_is_refused(
    tiny: Checkpoint, tmp_path: Path, settings: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidWeights, match=words):
        plan_lora(write_lora(tmp_path, tiny.config, settings=settings), tiny.config)


def test_half_a_lora_and_two_are_refused(tiny: Checkpoint, tmp_path: Path) -> None:
    adapters = write_lora(tmp_path, tiny.config)
    weights, settings = adapters["adapter_model.safetensors"], adapters["adapter_config.json"]
    with pytest.raises(InvalidWeights, match=r"not 0 and 1: adapter_config\.json"):
        plan_lora({"adapter_config.json": settings}, tiny.config)
    with pytest.raises(InvalidWeights, match="not 2 and 0"):
        plan_lora({"a.safetensors": weights, "b.safetensors": weights}, tiny.config)
    settings.write_text("{")
    with pytest.raises(InvalidWeights, match="is not a PEFT config"):
        plan_lora(adapters, tiny.config)
    assert plan_lora({"anna.txt": settings}, tiny.config) is None


def test_numbers_that_are_not_finite_are_refused(tiny: Checkpoint, tmp_path: Path) -> None:
    adapters = write_lora(tmp_path, tiny.config)
    tensors = load_file(adapters["adapter_model.safetensors"])
    tensors[f"{PREFIX}layers.0.mlp.up_proj.lora_B.weight"][3, 1] = torch.nan
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    with pytest.raises(InvalidWeights, match="holds numbers that are not finite"):
        read_lora(files_of(tmp_path), tiny.config)
