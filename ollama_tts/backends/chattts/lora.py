"""`Lora`: small matrices that change the language model, merged into it or laid over it.

Merged: W + s B A, computed in float32 before W is cast or packed. Laid over: y = W x + s B (A x),
for just those rows of a step that ask for it, so voices that differ in their LoRA share one loaded
model. Either way a row's result is the same bits in any company.

Letters: R rows, K inputs, N outputs, r rank.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from typing_extensions import override

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.linear import DenseWeight, Linear
from ollama_tts.backends.chattts.lora_files import LoraModule, LoraPlan, plan_lora
from ollama_tts.backends.chattts.sources import Stored
from ollama_tts.backends.chattts.weights import Checkpoint, numbers
from ollama_tts.errors import InvalidWeights


@dataclass(frozen=True, slots=True, eq=False)
class Lora:
    """The matrices of one LoRA, float32 on the CPU; two objects are never the same one.

    `pairs`: `layers.0.self_attn.q_proj` → A [r, K] and B [N, r], the scale in B.
    """

    pairs: Mapping[str, tuple[Tensor, Tensor]]

    def merged(self, name: str, weight: Tensor) -> Tensor:
        """Float32 `weight` [N, K] of the tensor `name` with what the LoRA adds to it."""
        pair = self.pairs.get(name.removesuffix(".weight"))
        if pair is None:
            return weight
        return weight + (pair[1] @ pair[0]).to(weight.device)


class TunedCheckpoint(Checkpoint):
    """A model's weights with a LoRA merged into the language model's."""

    def __init__(self, files: Mapping[str, Path], lora: Lora) -> None:
        super().__init__(files)
        self._lora = lora

    @override
    def tensor(
        self, file: str, name: str, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> Tensor:
        """As the base's; merged in float32."""
        if file != layout.GPT:
            return super().tensor(file, name, dtype, device)
        weight = super().tensor(file, name, torch.float32, device)
        return self._lora.merged(name, weight).to(dtype)


def read_lora(adapters: Mapping[str, Path], config: ChatTTSConfig) -> Lora | None:
    """The LoRA among a model's adapters, its numbers read; None where there is none.

    Raises:
        InvalidWeights: It is damaged or for another model; see `plan_lora`.
        LoadFailed: A file cannot be read any more.
    """
    plan = plan_lora(adapters, config)
    if plan is None:
        return None
    return Lora({name: _pair(plan, module) for name, module in plan.modules.items()})


def _pair(plan: LoraPlan, module: LoraModule) -> tuple[Tensor, Tensor]:
    a, b = (
        numbers(Stored(plan.file, info, plan.name)).float() for info in (module.a, module.b)
    )  # fmt: skip
    for info, values in ((module.a, a), (module.b, b)):
        if not values.isfinite().all():
            raise InvalidWeights(f"{plan.name}: {info.name[:80]} holds numbers that are not finite")
    return a, b * module.scale


class LaidLora:
    """A LoRA on the devices of a model's layers, as products of the model's fused matrices.

    Args:
        lora: The matrices.
        devices: Each layer's.
        compute: The dtype that products are made in.
    """

    def __init__(self, lora: Lora, devices: Sequence[torch.device], compute: torch.dtype) -> None:
        self._products: dict[tuple[int, str], tuple[Linear, Linear]] = {}
        for index, device in enumerate(devices):
            for part, names in FUSED.items():
                pairs = [lora.pairs.get(f"layers.{index}.{name}") for name in names]
                made = _fused(pairs)
                if made is not None:
                    a, b = (DenseWeight(m.to(device, compute)) for m in made)
                    self._products[index, part] = Linear(a), Linear(b)

    @property
    def nbytes(self) -> int:
        """Bytes of all matrices."""
        return sum(a.nbytes + b.nbytes for a, b in self._products.values())

    def added(self, index: int, part: str, x: Tensor, tile: int) -> Tensor | None:
        """What comes to `part` of layer `index` for inputs float32 [R, K]: [R, N], or nothing."""
        pair = self._products.get((index, part))
        return None if pair is None else pair[1](pair[0](x, tile), tile)


FUSED: Mapping[str, tuple[str, ...]] = {
    "qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "out": ("self_attn.o_proj",),
    "gate_up": ("mlp.gate_proj", "mlp.up_proj"),
    "down": ("mlp.down_proj",),
}


def _fused(pairs: Sequence[tuple[Tensor, Tensor] | None]) -> tuple[Tensor, Tensor] | None:
    """A and B of several matrices that lie below each other: A's below each other, B's diagonal.

    All of a fused matrix's parts have the same number of outputs, known from any that is there.
    """
    there = [pair for pair in pairs if pair is not None]
    if not there:
        return None
    outputs, ranks = there[0][1].shape[0], sum(a.shape[0] for a, _ in there)
    b, first = torch.zeros(len(pairs) * outputs, ranks), 0
    for place, pair in enumerate(pairs):
        if pair is not None:
            rank = pair[0].shape[0]
            b[place * outputs : (place + 1) * outputs, first : first + rank] = pair[1]
            first += rank
    return torch.cat([a for a, _ in there]), b


@dataclass(frozen=True, slots=True, eq=False)
class TunedRows:
    """The rows of a step that a LoRA is laid over; `index` None means all of them."""

    lora: LaidLora
    index: Tensor | None = None

    def onto(self, made: Tensor, index: int, part: str, given: tuple[Tensor, int]) -> Tensor:
        """`made` [R, N] of one product with what its rows' LoRA adds; `given`: inputs and tile."""
        x, tile = given
        if self.index is None:
            added = self.lora.added(index, part, x, tile)
            return made if added is None else made + added
        at = self.index.to(x.device)
        added = self.lora.added(index, part, x[at], tile)
        return made if added is None else made.index_add(0, at, added)


def rows_of(laid: Iterable[LaidLora | None], device: torch.device) -> list[TunedRows]:
    """The rows of a step by their LoRA, given each row's; rows without one are left out."""
    found: dict[LaidLora, list[int]] = {}
    for row, lora in enumerate(laid):
        if lora is not None:
            found.setdefault(lora, []).append(row)
    return [TunedRows(lora, torch.tensor(rows, device=device)) for lora, rows in found.items()]
