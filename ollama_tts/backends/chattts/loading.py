"""From load options to a loaded, warm step model: which device, precision and implementation.

| `quantization` | CPU, native | CPU, torch | GPU |
| --- | --- | --- | --- |
| auto | int8 | fp32 | bf16 |
| fp32 bf16 int8 | as named | as named | as named |
| fp16 int4 | – (torch) | as named | as named |
"""

import logging
import os
from dataclasses import dataclass

import torch

from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.gpt import Precision
from ollama_tts.backends.chattts.memory import guarded
from ollama_tts.backends.chattts.native.library import find
from ollama_tts.backends.chattts.native.step import NativeShape
from ollama_tts.backends.chattts.native_model import NativeStepModel
from ollama_tts.backends.chattts.step_model import Plan, TorchStepModel
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import StepModel
from ollama_tts.errors import LoadFailed, Unsupported
from ollama_tts.options import LoadOptions

logger = logging.getLogger(__name__)

CPU = torch.device("cpu")
CPU_SLOTS, GPU_SLOTS = 16, 64
GPU_TILE = 16
NATIVE = frozenset({"fp32", "bf16", "int8"})


@dataclass(frozen=True, slots=True)
class Choice:
    """What was decided. `layers_on_gpu` counts from the first."""

    implementation: str
    quantization: str
    device: torch.device
    layers_on_gpu: int
    slots: int
    positions: int
    threads: int
    fused_attention: bool

    @property
    def compute(self) -> torch.dtype:
        """The dtype that torch's products are made in."""
        names = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
        folded = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        return names.get(self.quantization, folded)

    def devices(self, layers: int) -> tuple[torch.device, ...]:
        """The device of each of a model's layers."""
        return (self.device,) * self.layers_on_gpu + (CPU,) * (layers - self.layers_on_gpu)

    @property
    def notes(self) -> dict[str, str]:
        """What `ps` and `show` print."""
        return {
            "backend": self.implementation,
            "quantization": self.quantization,
            "device": self.device.type,
            "gpu_layers": str(self.layers_on_gpu),
            "compile": "cuda graphs" if self.device.type == "cuda" else "off (no use on a CPU)",
        }


def choose(config: ChatTTSConfig, options: LoadOptions) -> Choice:
    """Decide where and how a model runs.

    Raises:
        LoadFailed: The GPU that was asked for is not there.
        Unsupported: The backend cannot do what was asked.
    """
    device, layers = _device(config, options)
    on_gpu = device.type == "cuda"
    implementation = _implementation(options, on_gpu=on_gpu)
    quantization = options.quantization
    if quantization == "auto":
        quantization = "bf16" if on_gpu else "int8" if implementation == "native" else "fp32"
    return Choice(
        implementation=implementation,
        quantization=quantization,
        device=device,
        layers_on_gpu=layers,
        slots=options.num_batch or (GPU_SLOTS if on_gpu else CPU_SLOTS),
        positions=min(options.num_ctx, config.gpt.max_position_embeddings),
        threads=options.num_thread or cores(),
        fused_attention=options.flash_attention,
    )


def cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def device_of(options: LoadOptions) -> torch.device:
    """The GPU that a model goes to, or the CPU.

    Raises:
        LoadFailed: There is no GPU of the number that was asked for.
    """
    if options.num_gpu == 0 or not torch.cuda.is_available():
        return CPU
    count = torch.cuda.device_count()
    if options.main_gpu >= count:
        raise LoadFailed(
            f"option 'main_gpu' must be 0 to {count - 1} on this machine, not {options.main_gpu}"
        )
    return torch.device("cuda", options.main_gpu)


def _device(config: ChatTTSConfig, options: LoadOptions) -> tuple[torch.device, int]:
    """The device of everything but the layers, and how many layers lie on a GPU."""
    total = config.gpt.num_hidden_layers
    device = device_of(options)
    if device.type == "cpu":
        return device, 0
    return device, total if options.num_gpu < 0 else min(options.num_gpu, total)


def _implementation(options: LoadOptions, *, on_gpu: bool) -> str:
    """The name of the implementation: native or torch."""
    fits = options.quantization == "auto" or options.quantization in NATIVE
    if options.backend == "native":
        if on_gpu or not fits:
            raise Unsupported(
                "backend native runs on the CPU (num_gpu 0) in fp32, bf16 or int8, "
                f"not {options.quantization}"
            )
        return "native"
    if options.backend == "torch" or on_gpu or not fits:
        return "torch"
    if options.backend != "auto":
        raise Unsupported(f"chattts models have no backend {options.backend!r}; use auto, torch, "
                          "native or reference")  # fmt: skip
    if find() is None:
        logger.info(
            "the native CPU step was not built; chattts runs on torch, several times slower"
        )
        return "torch"
    return "native"


def build(checkpoint: Checkpoint, choice: Choice, *, text_end: int) -> StepModel:
    """Load a model as chosen.

    Raises:
        OutOfMemory: It does not fit.
        Unsupported: The native library does not take this model.
    """
    with guarded("loading the weights"):
        if choice.implementation == "native":
            return _native(checkpoint, choice, text_end)
        return TorchStepModel(checkpoint, _plan(checkpoint.config, choice), text_end=text_end)


def _native(checkpoint: Checkpoint, choice: Choice, text_end: int) -> NativeStepModel:
    gpt = checkpoint.config.gpt
    assert choice.quantization in {"fp32", "bf16", "int8"}
    shape = NativeShape(
        hidden=gpt.hidden_size,
        layers=gpt.num_hidden_layers,
        heads=gpt.num_attention_heads,
        inner=gpt.intermediate_size,
        texts=gpt.num_text_tokens,
        text_end=text_end,
        codebooks=gpt.num_vq,
        codes=gpt.num_audio_tokens,
        code_end=gpt.end_token,
        slots=choice.slots,
        positions=choice.positions,
        threads=choice.threads,
        mode=choice.quantization,  # type: ignore[arg-type]  # asserted above
        epsilon=gpt.rms_norm_eps,
    )
    return NativeStepModel(checkpoint, shape)


def _plan(config: ChatTTSConfig, choice: Choice) -> Plan:
    total = config.gpt.num_hidden_layers
    precision = Precision(choice.quantization, choice.compute, _tile(choice))
    return Plan(
        precision=precision,
        device=choice.device,
        devices=choice.devices(total),
        slots=choice.slots,
        positions=choice.positions,
        threads=choice.threads,
        block=choice.layers_on_gpu == total,
        fused_attention=choice.fused_attention,
    )


def _tile(choice: Choice) -> int:
    """Rows of a product. On a CPU a tile costs what it holds, on a GPU 16 cost what one does."""
    if choice.device.type == "cuda":
        return GPU_TILE
    return 2 if choice.compute == torch.float32 else 4
