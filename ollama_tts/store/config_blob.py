"""`ModelConfig` as the JSON of the config blob: Ollama's keys (types/model/config.go) and ours.

Ours are `parent_model` and `info`; stock Ollama leaves unknown keys alone.
"""

import msgspec

from ollama_tts.errors import InvalidRequest
from ollama_tts.store.model import ModelConfig

MAX_CONFIG_BYTES = 1024 * 1024


class _ConfigJSON(msgspec.Struct, omit_defaults=True):
    model_format: str = ""
    model_family: str = ""
    model_families: list[str] | None = None
    model_type: str = ""
    file_type: str = ""
    capabilities: list[str] | None = None
    context_length: int = 0
    embedding_length: int = 0
    parent_model: str = ""
    requires: str = ""
    info: dict[str, object] = {}


def encode_config(config: ModelConfig) -> bytes:
    """The config blob's bytes; equal configs give equal bytes."""
    fields = {
        "model_format": config.model_format,
        "model_family": config.model_family,
        "model_families": [config.model_family] if config.model_family else None,
        "model_type": config.parameter_size,
        "file_type": config.quantization,
        "capabilities": list(config.capabilities),
        "context_length": config.context_length,
        "embedding_length": config.embedding_length,
        "parent_model": config.parent_model,
        "requires": config.requires,
        "info": dict(sorted(config.info.items())),
    }
    given = {key: value for key, value in fields.items() if value}
    return msgspec.json.encode({**given, "architecture": "amd64", "os": "linux"})


def decode_config(data: bytes) -> ModelConfig:
    """The config in a blob's bytes, Ollama's own included.

    Raises:
        InvalidRequest: Not JSON, or a field of a wrong type.
    """
    try:
        raw = msgspec.json.decode(data, type=_ConfigJSON)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"config is damaged: {error}") from error
    families = raw.model_families or [""]
    return ModelConfig(
        model_format=raw.model_format,
        model_family=raw.model_family or families[0],
        parameter_size=raw.model_type,
        quantization=raw.file_type,
        capabilities=tuple(raw.capabilities or ()),
        context_length=raw.context_length,
        embedding_length=raw.embedding_length,
        parent_model=raw.parent_model,
        requires=raw.requires,
        info=raw.info,
    )
