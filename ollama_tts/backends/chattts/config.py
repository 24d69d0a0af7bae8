"""`ChatTTSConfig`: every size of a checkpoint; nothing in the engine assumes the official ones."""

import json
import math
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from ollama_tts.errors import InvalidWeights

SAMPLE_RATE_HZ = 24_000
FRAMES_PER_TOKEN = 2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GPTConfig:
    """The Llama that writes audio codes. The last audio id is the end token."""

    hidden_size: int = 768
    intermediate_size: int = 3072
    num_attention_heads: int = 12
    num_hidden_layers: int = 20
    max_position_embeddings: int = 4096
    num_audio_tokens: int = 626
    num_text_tokens: int = 21178
    num_vq: int = 4
    vocab_size: int = 32000
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def end_token(self) -> int:
        """The audio id that ends an utterance."""
        return self.num_audio_tokens - 1


@dataclass(frozen=True, slots=True)
class ConvConfig:
    """A stack of ConvNeXt blocks: idim → bn_dim → `n_layer` × hidden → odim."""

    idim: int = 384
    odim: int = 384
    hidden: int = 512
    n_layer: int = 12
    bn_dim: int = 128


@dataclass(frozen=True, slots=True)
class QuantizerConfig:
    """The grouped residual FSQ of the DVAE: G groups, R residual steps."""

    dim: int = 1024
    levels: tuple[int, ...] = (5, 5, 5, 5)
    G: int = 2
    R: int = 2


@dataclass(frozen=True, slots=True)
class DVAEConfig:
    """The DVAE; its encoder turns a recording into codes (voice prompts)."""

    encoder: ConvConfig = ConvConfig(512, 1024, 256, 12, 128)
    decoder: ConvConfig = ConvConfig(512, 512, 256, 12, 128)
    vq: QuantizerConfig = QuantizerConfig()


@dataclass(frozen=True, slots=True)
class VocosConfig:
    """The vocoder: mel frames to sound."""

    dim: int = 512
    intermediate_dim: int = 1536
    num_layers: int = 8
    n_fft: int = 1024
    hop_length: int = 256
    n_mels: int = 100


@dataclass(frozen=True, slots=True)
class ChatTTSConfig:
    """All sizes of a checkpoint. `spk_stat` is upstream's string of speaker statistics, or ""."""

    gpt: GPTConfig = GPTConfig()
    decoder: ConvConfig = ConvConfig()
    dvae: DVAEConfig = DVAEConfig()
    vocos: VocosConfig = VocosConfig()
    spk_stat: str = ""

    @property
    def step_samples(self) -> int:
        """Samples of one token."""
        return FRAMES_PER_TOKEN * self.vocos.hop_length

    @property
    def context_frames(self) -> int:
        """How many mel frames on each side of a sample are looked at.

        Decoder: two convolutions of 3, blocks of 7 dilated by 2, one of 3. Vocos: convolutions
        of 7. The inverse transform reaches two frames further.
        """
        decoder = 2 + 6 * self.decoder.n_layer + 1
        vocos = 3 + 3 * self.vocos.num_layers
        return decoder + vocos + 2

    @property
    def context_steps(self) -> int:
        """`context_frames` in whole tokens."""
        return math.ceil(self.context_frames / FRAMES_PER_TOKEN)

    def check(self) -> "ChatTTSConfig":
        """The config itself, once its parts were seen to fit each other.

        Raises:
            InvalidWeights: A size that cannot be, with its name and value.
        """
        g, v = self.gpt, self.vocos
        demands = {
            "gpt.num_attention_heads divides hidden_size": g.hidden_size % g.num_attention_heads,
            "the width of an attention head is even": g.head_size % 2,
            "decoder.idim is half of gpt.hidden_size": 2 * self.decoder.idim - g.hidden_size,
            "vocos.n_fft is four times hop_length": v.n_fft - 4 * v.hop_length,
            "dvae.vq.G * R is gpt.num_vq": self.dvae.vq.G * self.dvae.vq.R - g.num_vq,
            "there is a code beside the end token": int(g.num_audio_tokens < 2),
        }
        for what, off_by in demands.items():
            if off_by:
                raise InvalidWeights(f"the sizes of this checkpoint do not fit: {what}")
        return self


def parse_config(text: bytes) -> ChatTTSConfig:
    """The config of a checkpoint's `config.json`; keys that are not sizes are passed over.

    Raises:
        InvalidWeights: Not JSON, or a size is missing its type or out of range.
    """
    try:
        tree = json.loads(text)
    except ValueError as error:
        raise InvalidWeights(f"config.json is not JSON: {error}") from None
    if not isinstance(tree, dict):
        raise InvalidWeights("config.json must hold an object")
    base = ChatTTSConfig()
    dvae = _section(tree, "dvae")
    spk_stat = tree.get("spk_stat", "")
    if not isinstance(spk_stat, str):
        raise InvalidWeights("config.json: spk_stat must be a text")
    return ChatTTSConfig(
        gpt=_read(base.gpt, _section(tree, "gpt"), "gpt"),
        decoder=_read(base.decoder, _section(tree, "decoder"), "decoder"),
        dvae=DVAEConfig(
            encoder=_read(base.dvae.encoder, _section(dvae, "encoder"), "dvae.encoder"),
            decoder=_read(base.dvae.decoder, _section(dvae, "decoder"), "dvae.decoder"),
            vq=_read(base.dvae.vq, _section(dvae, "vq"), "dvae.vq"),
        ),
        vocos=_read(base.vocos, _section(tree, "vocos"), "vocos"),
        spk_stat=spk_stat,
    ).check()


def _section(tree: dict[str, object], name: str) -> dict[str, object]:
    part = tree.get(name, {})
    if not isinstance(part, dict):
        raise InvalidWeights(f"config.json: {name} must be an object")
    return part


def _read(base: T, values: dict[str, object], where: str) -> T:
    """`base` with the known keys of `values`, each checked against the type it replaces."""
    known = {f.name for f in fields(base)} & values.keys()  # type: ignore[arg-type]
    changes = {name: _size(getattr(base, name), values[name], f"{where}.{name}") for name in known}
    return replace(base, **changes)  # type: ignore[type-var]


def _size(like: object, value: object, name: str) -> object:
    if isinstance(like, tuple):
        if not isinstance(value, list) or not value:
            raise InvalidWeights(f"config.json: {name} must be a list of sizes, not {value!r}")
        return tuple(_size(1, v, name) for v in value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and isinstance(like, float) and 0 < value < 1e9:  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1 << 20:
        return value
    raise InvalidWeights(f"config.json: {name} must be a positive size, not {value!r}")
