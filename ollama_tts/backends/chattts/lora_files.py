"""The two files of a LoRA as PEFT writes them, checked before a number of them is used.

A file of safetensors holds A [rank, inputs] and B [outputs, rank] for each module that was trained;
`adapter_config.json` says how large they are and what they are multiplied with. Without it the rank
is what the tensors have and the scale is 1. Only plain LoRA of the language model's seven kinds of
matrices can be laid over it: what changes other parts, or computes anything else, is refused by
name.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import msgspec

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.errors import InvalidWeights
from ollama_tts.store.safetensors import check_safetensors
from ollama_tts.store.tensors import TensorInfo

CONFIG = "adapter_config.json"
SUFFIXES = frozenset({".safetensors", ".json"})
KINDS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
MAX_RANK = 256
MAX_ALPHA = 65536.0
MAX_CONFIG_BYTES = 1 << 20
FLOATS = frozenset({"F32", "F16", "BF16"})
_TENSOR = re.compile(
    r"(?:[A-Za-z0-9_]{1,40}\.){0,8}(layers\.[0-9]{1,3}\.(?:self_attn|mlp)\.[a-z]{1,4}_proj)"
    r"\.lora_([AB])(?:\.default)?\.weight"
)
# What PEFT can do beside plain LoRA, with the values that mean "not used".
_UNUSED: Mapping[str, tuple[object, ...]] = {
    "use_dora": (False,), "fan_in_fan_out": (False,), "lora_bias": (False,), "bias": ("none",),
    "modules_to_save": ([],), "trainable_token_indices": ([], {}), "layer_replication": ([],),
    "use_qalora": (False,), "target_parameters": ([],), "megatron_config": ({},),
    "alora_invocation_tokens": ([],),
}  # fmt: skip


class _Config(msgspec.Struct):
    """The fields of `adapter_config.json` that decide what is computed."""

    peft_type: str
    r: int
    lora_alpha: float
    use_rslora: bool = False
    target_modules: list[str] | str | None = None
    rank_pattern: dict[str, int] | None = None
    alpha_pattern: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class LoraModule:
    """One matrix that is changed: `scale` times B A is added to it."""

    a: TensorInfo
    b: TensorInfo
    scale: float


@dataclass(frozen=True, slots=True)
class LoraPlan:
    """A checked LoRA. `modules`: `layers.0.self_attn.q_proj` → what is added to its weight.

    `name` is what the file is called in errors.
    """

    name: str
    file: Path
    modules: Mapping[str, LoraModule] = field(default_factory=dict)


def lora_names(names: Iterable[str]) -> frozenset[str]:
    """Which adapter files belong to a LoRA, the others being voices."""
    return frozenset(name for name in names if PurePosixPath(name).suffix.lower() in SUFFIXES)


def plan_lora(adapters: Mapping[str, Path], config: ChatTTSConfig) -> LoraPlan | None:
    """The LoRA among a model's adapters, for a model of these sizes; None where there is none.

    JSON beside it that is no `adapter_config.json` (a tokenizer's, say) is passed over.

    Raises:
        InvalidWeights: Half a LoRA, several, one of another model, or one that is more than
            that; the text names file, field or tensor.
    """
    names = lora_names(adapters)
    if not names:
        return None
    weights = sorted(name for name in names if not name.lower().endswith(".json"))
    settings = sorted(name for name in names if PurePosixPath(name).name == CONFIG)
    if len(weights) != 1 or len(settings) > 1:
        raise InvalidWeights(
            f"a LoRA is one .safetensors file and at most one {CONFIG}, not "
            f"{len(weights)} and {len(settings)}: {', '.join(sorted(names))[:200]}"
        )
    found = _read(settings[0], adapters[settings[0]]) if settings else None
    file = adapters[weights[0]]
    tensors = check_safetensors(file, weights[0]).tensors
    return LoraPlan(weights[0], file, _modules(weights[0], found, tensors, config))


def _read(name: str, path: Path) -> _Config:
    """The settings, once it is known that they ask for plain LoRA."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise InvalidWeights(f"{name} is larger than {MAX_CONFIG_BYTES} bytes")
        data = path.read_bytes()
        raw = msgspec.json.decode(data, type=dict[str, object])
        found = msgspec.json.decode(data, type=_Config, strict=False)
    except OSError as error:
        raise InvalidWeights(f"{name} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidWeights(f"{name} is not a PEFT config: {error}") from error
    if found.peft_type.upper() != "LORA":
        raise InvalidWeights(f"{name}: peft_type must be LORA, not {found.peft_type[:40]!r}")
    for key, unused in _UNUSED.items():
        value = raw.get(key)
        if value is not None and value not in unused:
            raise InvalidWeights(f"{name}: {key} {str(value)[:40]!r} cannot be used, only LoRA can")
    _check_numbers(name, found)
    _check_targets(name, found.target_modules)
    return found


def _check_numbers(name: str, found: _Config) -> None:
    for what, rank in {"r": found.r, **(found.rank_pattern or {})}.items():
        if not 1 <= rank <= MAX_RANK:
            raise InvalidWeights(f"{name}: rank {what[:60]} must be 1 to {MAX_RANK}, not {rank}")
    for what, alpha in {"lora_alpha": found.lora_alpha, **(found.alpha_pattern or {})}.items():
        if not 0 < alpha <= MAX_ALPHA:
            raise InvalidWeights(
                f"{name}: {what[:60]} must be above 0, to {MAX_ALPHA:.0f}, not {alpha:g}"
            )


def _check_targets(name: str, targets: list[str] | str | None) -> None:
    """A text is a pattern of PEFT's; then the tensors alone tell what was trained."""
    if not isinstance(targets, list):
        return
    for target in targets:
        if target.rpartition(".")[2] not in KINDS:
            raise InvalidWeights(
                f"{name}: target module {target[:60]!r} is not one of {', '.join(KINDS)}"
            )


def _modules(
    file: str, found: _Config | None, tensors: Mapping[str, TensorInfo], config: ChatTTSConfig
) -> dict[str, LoraModule]:
    """Each changed module, its two matrices seen to fit it and each other."""
    gpt = layout.shapes(config)[layout.GPT]
    halves: dict[str, dict[str, TensorInfo]] = {}
    for name, tensor in tensors.items():
        match = _TENSOR.fullmatch(name)
        if match is None or f"{match[1]}.weight" not in gpt:
            raise InvalidWeights(f"{file}: {name[:80]!r} is no LoRA of a matrix of this model")
        if halves.setdefault(match[1], {}).setdefault(match[2], tensor) is not tensor:
            raise InvalidWeights(f"{file}: two tensors are lora_{match[2]} of {match[1]}")
    made = {}
    for module, pair in halves.items():
        rank, scale = _scale(module, found) if found else (_rank(file, module, pair), 1.0)
        _check_pair(f"{file}: ", module, pair, (rank, gpt[f"{module}.weight"]))
        made[module] = LoraModule(pair["A"], pair["B"], scale)
    return made


def _rank(file: str, module: str, pair: Mapping[str, TensorInfo]) -> int:
    """The rank as the tensors have it."""
    shape = pair["A"].shape if "A" in pair else (0,)
    if not 1 <= shape[0] <= MAX_RANK:
        raise InvalidWeights(f"{file}: lora_A of {module} must be of rank 1 to {MAX_RANK}")
    return shape[0]


def _scale(module: str, found: _Config) -> tuple[int, float]:
    """The rank, and what B A is multiplied with, as the config has them for a module."""
    rank = int(_by_pattern(found.rank_pattern or {}, module, found.r))
    alpha = _by_pattern(found.alpha_pattern or {}, module, found.lora_alpha)
    return rank, alpha / (math.sqrt(rank) if found.use_rslora else rank)


def _check_pair(
    file: str, module: str, pair: Mapping[str, TensorInfo], sizes: tuple[int, tuple[int, ...]]
) -> None:
    """Both halves are there, float, and of the shapes that rank and weight [N, K] ask for."""
    rank, (outputs, inputs) = sizes
    for half, expected in (("A", (rank, inputs)), ("B", (outputs, rank))):
        tensor = pair.get(half)
        if tensor is None:
            raise InvalidWeights(f"{file}lora_{half} of {module} is missing")
        if tensor.shape != expected:
            raise InvalidWeights(
                f"{file}lora_{half} of {module} is {list(tensor.shape)}, not {list(expected)}"
            )
        if tensor.dtype not in FLOATS:
            raise InvalidWeights(
                f"{file}lora_{half} of {module} is {tensor.dtype}, "
                f"not one of {', '.join(sorted(FLOATS))}"
            )


def _by_pattern(pattern: Mapping[str, float], module: str, usual: float) -> float:
    """The value for a module: that of the first key which is its name or the end of it.

    PEFT takes keys as regular expressions; plain names, which it writes, are understood here.
    """
    for key, value in pattern.items():
        if module == key or module.endswith("." + key) or key.endswith("." + module):
            return value
    return usual
