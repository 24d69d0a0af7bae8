"""What a model will occupy, by its sizes alone; the scheduler asks before anything is loaded."""

import math
from dataclasses import replace

import torch

from ollama_tts.backends.base import Memory
from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.graphs import ROW_BUCKETS
from ollama_tts.backends.chattts.loading import Choice

BYTES_A_WEIGHT = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "int8": 1.03, "int4": 0.63}
# How many jobs of how many positions a CPU is reckoned to run; their memory comes and goes.
TYPICAL_JOBS, TYPICAL_POSITIONS = 4, 512
# The rest is for work space and for what the card's other users will want.
SHARE_OF_FREE = 0.85


def estimate(config: ChatTTSConfig, choice: Choice) -> Memory:
    """What a model loaded as chosen will occupy."""
    layers = _numbers(config, layout.GPT) * BYTES_A_WEIGHT[choice.quantization]
    words, sound = _vocabulary(config, choice), _sound(config, choice)
    cache = _cache(config, choice)
    total = int(layers + words + sound + cache)
    if choice.device.type != "cuda":
        return Memory(total)
    share = choice.layers_on_gpu / config.gpt.num_hidden_layers
    return Memory(total, int((layers + cache) * share + words + sound))


def fitted(config: ChatTTSConfig, choice: Choice, free_bytes: int) -> Choice:
    """The choice with as many slots, up to its own, as fit into a GPU's free memory.

    One slot is always left: whether that fits is found out by loading.
    """
    fewer = (slots for slots in reversed(ROW_BUCKETS) if slots < choice.slots)
    for slots in (choice.slots, *fewer):
        smaller = replace(choice, slots=slots)
        if estimate(config, smaller).vram_bytes <= SHARE_OF_FREE * free_bytes:
            return smaller
    return replace(choice, slots=1)


def estimate_reference(config: ChatTTSConfig, device: torch.device) -> Memory:
    """What upstream will occupy: everything in float32, the DVAE too."""
    total = 4 * sum(_numbers(config, file) for file in layout.shapes(config))
    return Memory(total, total if device.type == "cuda" else 0)


def _numbers(config: ChatTTSConfig, file: str) -> int:
    return sum(math.prod(shape) for shape in layout.shapes(config)[file].values())


def _vocabulary(config: ChatTTSConfig, choice: Choice) -> float:
    """Tables, half precision unless all is fp32; the text head, as the layers; fp32 audio heads."""
    gpt = config.gpt
    audio = gpt.num_vq * gpt.num_audio_tokens
    table = 4 if choice.quantization == "fp32" else 2
    text = gpt.num_text_tokens * (table + BYTES_A_WEIGHT[choice.quantization])
    return gpt.hidden_size * (text + audio * (table + 4))


def _sound(config: ChatTTSConfig, choice: Choice) -> float:
    """Decoder and vocoder: fp32, but for the products inside the blocks of native int8."""
    folded = choice.implementation == "native" and choice.quantization == "int8"
    inner = BYTES_A_WEIGHT["int8"] if folded else 4.0
    shapes = layout.shapes(config)
    named = [*shapes[layout.DECODER].items(), *shapes[layout.VOCOS].items()]
    return sum(math.prod(shape) * (inner if ".pwconv" in name else 4.0) for name, shape in named)


def _cache(config: ChatTTSConfig, choice: Choice) -> int:
    """Keys and values: of all slots on a GPU, of a few typical jobs on a CPU."""
    width = 4 if choice.compute == torch.float32 else 2
    positions = choice.slots * choice.positions
    if choice.device.type == "cpu":
        positions = min(choice.slots, TYPICAL_JOBS) * min(choice.positions, TYPICAL_POSITIONS)
    return 2 * config.gpt.num_hidden_layers * config.gpt.hidden_size * width * positions
