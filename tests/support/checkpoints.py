"""Synthetic ChatTTS checkpoints: random weights in the official layout, tiny or of full size.

Nothing here is trained, so they make noise; they are for parity, order and speed. The mini
checkpoint in `tests/data/chattts-mini` is the one that speaks.
"""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from ollama_tts.backends.chattts import base16384, layout
from ollama_tts.backends.chattts.config import (
    ChatTTSConfig,
    ConvConfig,
    DVAEConfig,
    GPTConfig,
    QuantizerConfig,
    VocosConfig,
)

FULL = ChatTTSConfig()
TINY = ChatTTSConfig(
    gpt=GPTConfig(
        hidden_size=64,
        intermediate_size=128,
        num_attention_heads=2,
        num_hidden_layers=2,
        num_text_tokens=1200,
        vocab_size=100,
    ),
    decoder=ConvConfig(32, 32, 32, 2, 16),
    dvae=DVAEConfig(
        ConvConfig(32, 64, 32, 2, 16), ConvConfig(32, 32, 32, 2, 16), QuantizerConfig(dim=64)
    ),
    vocos=VocosConfig(dim=32, intermediate_dim=64, num_layers=2),
)
CONTROLS = [
    *(f"[{n}]" for n in ("Sasr", "Pasr", "Easr", "Stts", "Ptts", "Etts")),
    *(f"[{n}]" for n in ("Sbreak", "Pbreak", "Ebreak", "uv_break", "v_break", "lbreak")),
    *(f"[{n}]" for n in ("llbreak", "undefine", "laugh", "spk_emb", "empty_spk", "music", "pure")),
    *(f"[break_{i}]" for i in range(8)),
    *(f"[laugh_{i}]" for i in range(3)),
    *(f"[oral_{i}]" for i in range(10)),
    *(f"[speed_{i}]" for i in range(10)),
]
SPECIAL = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"]
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "hello", "good", "morning"]
LOGIT_SCALE = 3.0


def write(root: Path, config: ChatTTSConfig, seed: int = 0) -> Path:
    """Write a checkpoint of these sizes below `root`, with `config.json`; returns `root`."""
    generator = torch.Generator().manual_seed(seed)
    for file, shapes in layout.shapes(config).items():
        tensors = {name: _tensor(name, shape, generator) for name, shape in shapes.items()}
        if file == layout.GPT:
            shape = (config.gpt.vocab_size, config.gpt.hidden_size)
            tensors["embed_tokens.weight"] = torch.zeros(shape)
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, path, metadata={"format": "pt"})
    _write_llama_config(root / "asset/gpt/config.json", config.gpt)
    _write_tokenizer(root / "asset/tokenizer", config.gpt.num_text_tokens)
    config = replace(config, spk_stat=_statistics(config.gpt.hidden_size, generator))
    (root / layout.CONFIG).write_text(json.dumps(asdict(config)), encoding="utf-8")
    return root


def _tensor(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Random numbers of a size that keeps signals alive through all layers."""
    if name.endswith("window"):
        return torch.hann_window(shape[0])
    if name.endswith(".fb"):
        return _mel_filters(*shape)
    noise = torch.empty(shape).normal_(generator=generator)
    return _centre(name, shape) + noise * _spread(name, shape)


def _centre(name: str, shape: tuple[int, ...]) -> float:
    """What a tensor's numbers lie around."""
    if name.endswith("original0"):
        return LOGIT_SCALE
    if name == "coef":
        return 0.6
    if "norm" in name and name.endswith("weight"):
        return 1.0
    is_layer_scale = len(shape) == 1 and not name.endswith("bias")
    return 0.25 if is_layer_scale else 0.0


def _spread(name: str, shape: tuple[int, ...]) -> float:
    """How far a tensor's numbers lie from their centre."""
    if len(shape) == 1 or name.endswith("original0"):
        return 0.0 if name.endswith("original0") else 0.02
    if name == "coef":
        return 0.05
    if name.startswith("emb_"):
        return 0.5
    gains = {"q_proj": 1.5, "k_proj": 1.5, "v_proj": 0.6, "o_proj": 0.6, "down_proj": 0.8,
             "head.out": 0.5}  # fmt: skip
    gain = next((value for part, value in gains.items() if part in name), 1.0)
    return gain / math.sqrt(math.prod(shape[1:]))


def _mel_filters(bins: int, mels: int) -> torch.Tensor:
    """Triangular HTK mel filters of a 24 kHz spectrum, float32 [bins, mels]."""

    def mel(hz: float) -> float:
        return 2595.0 * math.log10(1 + hz / 700.0)

    frequencies = torch.linspace(0, 12_000, bins)
    points = 700.0 * (10.0 ** (torch.linspace(mel(0.0), mel(12_000.0), mels + 2) / 2595.0) - 1.0)
    widths, slopes = points[1:] - points[:-1], points[None] - frequencies[:, None]
    sides = torch.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:])
    return sides.clamp(min=0)


def _statistics(hidden: int, generator: torch.Generator) -> str:
    deviation = torch.rand(hidden, generator=generator) + 0.5
    both = torch.cat([deviation, torch.randn(hidden, generator=generator)])
    return base16384.encode(both.half().numpy().tobytes())


def _write_llama_config(path: Path, config: GPTConfig) -> None:
    """The `config.json` of a Llama, as upstream's loader reads it."""
    tree = {
        "architectures": ["LlamaModel"],
        "model_type": "llama",
        "attention_bias": False,
        "mlp_bias": False,
        "hidden_act": "silu",
        "num_key_value_heads": config.num_attention_heads,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "use_cache": False,
        **asdict(config),
    }
    path.write_text(json.dumps(tree), encoding="utf-8")


def _write_tokenizer(root: Path, size: int) -> None:
    """A Bert WordPiece tokenizer of `size` entries that ends in ChatTTS's control tokens."""
    vocabulary = _vocabulary(size - len(CONTROLS))
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    tokens = [AddedToken(t, special=True, normalized=False) for t in SPECIAL + CONTROLS]
    tokenizer.add_special_tokens(tokens)
    root.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(root / "tokenizer.json"))
    roles = {f"{n.lower()}_token": f"[{n}]" for n in ("UNK", "SEP", "PAD", "CLS", "MASK")}
    common = {"additional_special_tokens": CONTROLS, **roles}
    (root / "special_tokens_map.json").write_text(json.dumps(common), encoding="utf-8")
    settings = {**common, "tokenizer_class": "BertTokenizer", "do_lower_case": True,
                "clean_up_tokenization_spaces": True}  # fmt: skip
    (root / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def _vocabulary(size: int) -> dict[str, int]:
    entries = ["[PAD]", *(f"[unused{i}]" for i in range(1, 100)), "[UNK]", "[CLS]", "[SEP]",
               "[MASK]"]  # fmt: skip
    entries += [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    entries += [f"##{chr(c)}" for c in [*range(97, 123), *range(48, 58)]]
    entries += [*"，。、！？：；（）“”‘’《》…—", *(w for w in WORDS if len(w) > 1)]
    entries += [chr(c) for c in range(0x4E00, 0x9FA6)]
    entries = list(dict.fromkeys(entries))[:size]
    entries += [f"[filler{i}]" for i in range(size - len(entries))]
    return {token: i for i, token in enumerate(entries)}
