"""Small stores, and models in them, for tests of everything that keeps models."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from ollama_tts.names import Digest, ModelName
from ollama_tts.store import manifests
from ollama_tts.store.config_blob import encode_config
from ollama_tts.store.manifests import Layer, Manifest
from ollama_tts.store.model import LocalModel, ModelConfig
from ollama_tts.store.store import Store


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)


def upload(store: Store, data: bytes) -> Digest:
    """Put a blob in the store as a client does."""
    digest = Digest.of(data)
    store.blobs.add(digest, [data])
    return digest


def commit(
    store: Store,
    name: str,
    files: Mapping[str, bytes] | None = None,
    *,
    config: ModelConfig | None = None,
    parameters: Mapping[str, object] | None = None,
    texts: Mapping[str, str] | None = None,
) -> LocalModel:
    """Make a model of uploaded files and texts (media type → text)."""
    layers = []
    for path, data in (files or {}).items():
        layers.append(Layer(manifests.FILE, upload(store, data), len(data), path))
    contents: dict[Digest, bytes] = {}

    def small(media_type: str, data: bytes) -> Layer:
        contents[Digest.of(data)] = data
        return Layer(media_type, Digest.of(data), len(data))

    if parameters:
        layers.append(small(manifests.PARAMS, msgspec.json.encode(dict(parameters))))
    layers += [small(media_type, text.encode()) for media_type, text in (texts or {}).items()]
    made = config or ModelConfig(model_format="tone")
    manifest = Manifest(small(manifests.CONFIG_MEDIA_TYPE, encode_config(made)), tuple(layers))
    return store.commit(ModelName.parse(name), manifest, contents)


def names(store: Store) -> list[str]:
    """The short names of all models, in the order of the list."""
    return [model.name.short for model in store.list()]


def blob_names(models_dir: Path) -> set[str]:
    """What lies in the folder of blobs, temporary files included."""
    return {path.name for path in (models_dir / "blobs").glob("*")} | {
        path.name for path in (models_dir / "blobs").glob(".*")
    }
