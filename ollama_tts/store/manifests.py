"""Manifests: which blobs a model consists of. Read with suspicion, written last.

The file is a Docker schema 2 manifest, as Ollama and its registry write it (manifest/*.go).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from ollama_tts.errors import InvalidName, InvalidRequest
from ollama_tts.names import Digest

MANIFEST_MEDIA_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG_MEDIA_TYPE = "application/vnd.docker.container.image.v1+json"

# Layers as stock Ollama knows them; `json` is one file of a model, its path in `name`.
_IMAGE = "application/vnd.ollama.image."
MODEL = _IMAGE + "model"
ADAPTER = _IMAGE + "adapter"
TEMPLATE = _IMAGE + "template"
PROMPT = _IMAGE + "prompt"
SYSTEM = _IMAGE + "system"
PARAMS = _IMAGE + "params"
MESSAGES = _IMAGE + "messages"
LICENSE = _IMAGE + "license"
TENSOR = _IMAGE + "tensor"
JSON_FILE = _IMAGE + "json"
# Ours: a whole file of a model that is no JSON, its path in `name`. Stock Ollama passes it on.
FILE = "application/vnd.ollama-tts.image.file"

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MAX_LAYERS = 4096
MAX_LAYER_BYTES = 1 << 50


@dataclass(frozen=True, slots=True)
class Layer:
    """One blob of a model. `name` is its relative path or voice, `from_` where it came from."""

    media_type: str
    digest: Digest
    size_bytes: int
    name: str = ""
    from_: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The config blob and the layers, in order."""

    config: Layer
    layers: tuple[Layer, ...]

    @property
    def size_bytes(self) -> int:
        """The size of all blobs together, as lists show it."""
        return self.config.size_bytes + sum(layer.size_bytes for layer in self.layers)

    def blobs(self) -> Iterator[Layer]:
        """The layers, then the config."""
        yield from self.layers
        yield self.config

    def of(self, *media_types: str) -> list[Layer]:
        """The layers of some media types, in order."""
        return [layer for layer in self.layers if layer.media_type in media_types]


class _LayerJSON(msgspec.Struct, rename="camel", omit_defaults=True):
    media_type: str
    digest: str
    size: int
    from_: str = msgspec.field(default="", name="from")
    name: str = ""


class _ManifestJSON(msgspec.Struct, rename="camel"):
    schema_version: int
    media_type: str
    config: _LayerJSON
    layers: list[_LayerJSON]


def parse_manifest(data: bytes) -> Manifest:
    """The manifest in these bytes.

    Raises:
        InvalidRequest: Not a manifest, over the size limits, or with a digest that is none.
    """
    if len(data) > MAX_MANIFEST_BYTES:
        raise InvalidRequest(f"manifest is larger than {MAX_MANIFEST_BYTES} bytes")
    try:
        raw = msgspec.json.decode(data, type=_ManifestJSON)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"manifest is damaged: {error}") from error
    if raw.schema_version != 2:
        raise InvalidRequest(f"manifest schema version {raw.schema_version} is not 2")
    if len(raw.layers) > MAX_LAYERS:
        raise InvalidRequest(f"manifest has more than {MAX_LAYERS} layers")
    return Manifest(_layer(raw.config), tuple(_layer(layer) for layer in raw.layers))


def _layer(raw: _LayerJSON) -> Layer:
    if not 0 <= raw.size <= MAX_LAYER_BYTES:
        raise InvalidRequest(f"manifest is damaged: a layer of {raw.size} bytes")
    try:
        digest = Digest.parse(raw.digest)
    except InvalidName as error:
        raise InvalidRequest(f"manifest is damaged: {error}") from error
    return Layer(raw.media_type, digest, raw.size, raw.name, raw.from_)


def encode_manifest(manifest: Manifest) -> bytes:
    """The bytes of a manifest file: compact JSON and a newline."""
    raw = _ManifestJSON(
        2,
        MANIFEST_MEDIA_TYPE,
        _raw(manifest.config),
        [_raw(layer) for layer in manifest.layers],
    )
    return msgspec.json.encode(raw) + b"\n"


def _raw(layer: Layer) -> _LayerJSON:
    return _LayerJSON(
        layer.media_type, str(layer.digest), layer.size_bytes, layer.from_, layer.name
    )
