"""A ChatTTS model's metadata in GGUF: which key holds what (docs/gguf.md lists them).

`show` prints the sizes under the same keys.
"""

import json
from collections.abc import Mapping, Sequence
from functools import reduce

from ollama_tts.backends.chattts.config import SAMPLE_RATE_HZ, ChatTTSConfig, parse_config
from ollama_tts.errors import InvalidWeights
from ollama_tts.store.gguf import GGUF, Scalar, Value

Written = Scalar | Sequence[Scalar]
ARCHITECTURE = "chattts"
VERSION = 1
VERSION_KEY = "chattts.format_version"
TOKENIZER_KEY = "tokenizer.huggingface.json"
STATISTICS_KEY = "chattts.speaker.statistics"
NAMES_KEY, STRINGS_KEY = "chattts.speaker.names", "chattts.speaker.strings"
LICENSES_KEY = "chattts.licenses"
TOKENS = "chattts.token."
FILE_PREFIX = "chattts.file."

_STACK = {
    "input_length": "idim", "output_length": "odim", "hidden_length": "hidden",
    "block_count": "n_layer", "bottleneck_length": "bn_dim",
}  # fmt: skip
# Key → where the size stands in `ChatTTSConfig`.
SIZES: Mapping[str, str] = {
    "chattts.context_length": "gpt.max_position_embeddings",
    "chattts.embedding_length": "gpt.hidden_size",
    "chattts.block_count": "gpt.num_hidden_layers",
    "chattts.feed_forward_length": "gpt.intermediate_size",
    "chattts.attention.head_count": "gpt.num_attention_heads",
    "chattts.attention.layer_norm_rms_epsilon": "gpt.rms_norm_eps",
    "chattts.rope.freq_base": "gpt.rope_theta",
    "chattts.vocab_size": "gpt.num_text_tokens",
    "chattts.unused_vocab_size": "gpt.vocab_size",
    "chattts.audio.codebook_count": "gpt.num_vq",
    "chattts.audio.codebook_size": "gpt.num_audio_tokens",
    **{f"chattts.decoder.{k}": f"decoder.{v}" for k, v in _STACK.items()},
    **{f"chattts.dvae.encoder.{k}": f"dvae.encoder.{v}" for k, v in _STACK.items()},
    **{f"chattts.dvae.decoder.{k}": f"dvae.decoder.{v}" for k, v in _STACK.items()},
    "chattts.dvae.quantizer.length": "dvae.vq.dim",
    "chattts.dvae.quantizer.levels": "dvae.vq.levels",
    "chattts.dvae.quantizer.groups": "dvae.vq.G",
    "chattts.dvae.quantizer.residuals": "dvae.vq.R",
    "chattts.vocos.embedding_length": "vocos.dim",
    "chattts.vocos.feed_forward_length": "vocos.intermediate_dim",
    "chattts.vocos.block_count": "vocos.num_layers",
    "chattts.vocos.fft_size": "vocos.n_fft",
    "chattts.vocos.hop_length": "vocos.hop_length",
    "chattts.vocos.mel_count": "vocos.n_mels",
}


def sizes(config: ChatTTSConfig) -> dict[str, Written]:
    """Every size of a checkpoint by its key, and what follows from them."""
    found: dict[str, Written] = {key: _at(config, place) for key, place in SIZES.items()}
    return {
        **found,
        "chattts.audio.end_token_id": config.gpt.end_token,
        "chattts.audio.sample_rate": SAMPLE_RATE_HZ,
        "chattts.audio.samples_per_token": config.step_samples,
    }


def _at(config: ChatTTSConfig, place: str) -> Written:
    found: object = reduce(getattr, place.split("."), config)
    assert isinstance(found, int | float | tuple)
    return found


def config_of(header: GGUF, name: str) -> ChatTTSConfig:
    """The sizes that a header tells.

    Raises:
        InvalidWeights: One is missing or cannot be, or the file is of a later format.
    """
    version = header.values.get(VERSION_KEY)
    if version != VERSION:
        raise InvalidWeights(f"{name}: {VERSION_KEY} must be {VERSION}, not {str(version)[:40]}")
    missing = [key for key in SIZES if key not in header.values]
    if missing:
        raise InvalidWeights(f"{name} lacks the metadata {', '.join(missing[:3])}")
    tree: dict[str, object] = {"spk_stat": text_of(header, STATISTICS_KEY, name, default="")}
    for key, place in SIZES.items():
        *sections, last = place.split(".")
        part = tree
        for section in sections:
            inner = part.setdefault(section, {})
            assert isinstance(inner, dict)
            part = inner
        part[last] = header.values[key]
    try:
        return parse_config(json.dumps(tree).encode())
    except InvalidWeights as error:
        raise InvalidWeights(f"{name}: {str(error).removeprefix('config.json: ')}") from None


def text_of(header: GGUF, key: str, name: str, *, default: str | None = None) -> str:
    """A text of the metadata.

    Raises:
        InvalidWeights: It is missing, or no text.
    """
    found = header.values.get(key, default)
    if not isinstance(found, str):
        raise InvalidWeights(f"{name}: the metadata must hold the text {key}")
    return found


def texts_of(header: GGUF, key: str, name: str) -> tuple[str, ...]:
    """A list of texts of the metadata; empty where it is missing.

    Raises:
        InvalidWeights: It is something else.
    """
    found: Value = header.values.get(key, ())
    if not isinstance(found, tuple):
        raise InvalidWeights(f"{name}: the metadata {key} must be a list of texts")
    texts = tuple(item for item in found if isinstance(item, str))
    if len(texts) != len(found):
        raise InvalidWeights(f"{name}: the metadata {key} must be a list of texts")
    return texts


def speakers_of(header: GGUF, name: str) -> dict[str, str]:
    """Named voices: name → speaker string.

    Raises:
        InvalidWeights: Names and strings are not as many.
    """
    names, strings = texts_of(header, NAMES_KEY, name), texts_of(header, STRINGS_KEY, name)
    if len(names) != len(strings):
        raise InvalidWeights(
            f"{name}: {NAMES_KEY} has {len(names)} texts, {STRINGS_KEY} {len(strings)}"
        )
    return dict(zip(names, strings, strict=True))


def token_ids(tokenizer: str) -> dict[str, Written]:
    """The ids of the control tokens in a `tokenizer.json`, by key: `chattts.token.Stts`.

    Raises:
        InvalidWeights: It is no tokenizer.
    """
    try:
        added = json.loads(tokenizer)["added_tokens"]
        return {f"{TOKENS}{token['content'].strip('[]')}": int(token["id"]) for token in added}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidWeights(f"tokenizer.json is damaged: {error!r}") from None
