"""`PackageModel`: a voice whose weights lie in an installed package, as the store writes it down."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ollama_tts.store.model import ModelConfig


@dataclass(frozen=True, slots=True)
class PackageModel:
    """What the manifest of a package voice is made from; it has no weight layers.

    `name` is the short name ("hibari"). `config` becomes the config blob; its `info` holds the
    package's version, so that another version is another digest. `licenses` are whole texts.
    """

    name: str
    config: ModelConfig
    licenses: tuple[str, ...]
    parameters: Mapping[str, object] = field(default_factory=dict)
