"""Small LoRAs as PEFT writes them, of random numbers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import ChatTTSConfig

PREFIX = "base_model.model.model."
ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def write_lora(
    folder: Path,
    config: ChatTTSConfig,
    *,
    seed: int = 0,
    rank: int = 4,
    kinds: Sequence[str] = ALL,
    strength: float = 0.3,
    settings: Mapping[str, object] | None = None,
) -> dict[str, Path]:
    """Write both files of a LoRA; gives them by name, as `LocalModel.adapters` has them.

    `settings` go over what its config says.
    """
    generator = torch.Generator().manual_seed(seed)
    tensors: dict[str, torch.Tensor] = {}
    for name, shape in layout.shapes(config)[layout.GPT].items():
        module = name.removesuffix(".weight")
        if module.rpartition(".")[2] in kinds:
            outputs, inputs = shape
            a = torch.randn(rank, inputs, generator=generator) / inputs**0.5
            b = torch.randn(outputs, rank, generator=generator) * strength / rank**0.5
            tensors[f"{PREFIX}{module}.lora_A.weight"] = a
            tensors[f"{PREFIX}{module}.lora_B.weight"] = b
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    said = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "target_modules": list(kinds),
            "bias": "none", "task_type": "CAUSAL_LM", "use_dora": False}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps({**said, **(settings or {})}))
    return files_of(folder)


def files_of(folder: Path) -> dict[str, Path]:
    """The files of a folder, by name."""
    return {path.name: path for path in sorted(folder.iterdir())}
