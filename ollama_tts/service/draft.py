"""`Draft`: a manifest in the making, layer by layer; nothing of it is on disk but old blobs."""

from pathlib import Path

from ollama_tts.backends.base import Conversion
from ollama_tts.names import Digest
from ollama_tts.store import manifests
from ollama_tts.store.config_blob import encode_config
from ollama_tts.store.contents import FILE_TYPES, MAX_TEXT_BYTES, file_name
from ollama_tts.store.manifests import Layer, Manifest
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.store import Store

_TEXTS = (
    manifests.TEMPLATE, manifests.PROMPT, manifests.SYSTEM, manifests.PARAMS,
    manifests.LICENSE, manifests.MESSAGES,
)  # fmt: skip


class Draft:
    """The layers that a model is to have, from those of its base.

    `contents` are the small blobs to be written with the manifest, `licenses` what the weights
    themselves bring, `conversion` how the weights are to be written anew, if they are.
    """

    def __init__(self, store: Store, base: tuple[Layer, ...]) -> None:
        self._store = store
        self._files = [layer for layer in base if layer.media_type not in _TEXTS]
        self._base_texts = [layer for layer in base if layer.media_type in _TEXTS]
        self._texts: list[Layer] = []
        self._config: Layer | None = None
        self._made: Digest | None = None
        self.conversion: Conversion | None = None
        self.licenses: list[str] = []
        self.contents: dict[Digest, bytes] = {}

    def put_file(self, layer: Layer) -> None:
        """Add a file or an adapter, in place of one of the same name."""
        adapter = layer.media_type == manifests.ADAPTER
        same = [
            other
            for other in self._files
            if (other.media_type == manifests.ADAPTER) == adapter
            and (other.media_type in (*FILE_TYPES, manifests.ADAPTER))
            and file_name(other) == layer.name
        ]
        self._files = [other for other in self._files if other not in same]
        self._files.append(layer)

    @property
    def weights(self) -> list[Layer]:
        """The files that the model itself is made of."""
        return [layer for layer in self._files if layer.media_type in FILE_TYPES]

    def paths(self, *media_types: str) -> dict[str, Path]:
        """The files of these types by name."""
        chosen = (layer for layer in self._files if layer.media_type in media_types)
        return {file_name(layer): self._store.blobs.path(layer.digest) for layer in chosen}

    def plan(self, conversion: Conversion) -> None:
        """Let the weights be written anew so; `put_weights` takes what comes of it."""
        self.conversion = conversion

    def put_weights(self, layer: Layer) -> None:
        """Let one file stand for all of `weights`."""
        others = [layer for layer in self._files if layer.media_type not in FILE_TYPES]
        self._files = [layer, *others]
        self._made = layer.digest

    @property
    def license_texts(self) -> list[str]:
        """The licences so far, in order."""
        layers = [layer for layer in self._texts if layer.media_type == manifests.LICENSE]
        return [self._text(layer) for layer in layers]

    def _text(self, layer: Layer) -> str:
        data = self.contents.get(layer.digest)
        if data is None:
            data = self._store.blobs.read(layer.digest, MAX_TEXT_BYTES)
        return data.decode("utf-8", "replace")

    def keep(self, *media_types: str) -> None:
        """Take over the base's texts of these types."""
        self._texts += [layer for layer in self._base_texts if layer.media_type in media_types]

    def put_text(self, media_type: str, data: bytes) -> None:
        """Add a text, unless the very same one is there."""
        layer = self._blob(media_type, data)
        if layer not in self._texts:
            self._texts.append(layer)

    def _blob(self, media_type: str, data: bytes) -> Layer:
        digest = Digest.of(data)
        self.contents[digest] = data
        return Layer(media_type, digest, len(data))

    def finish(self, config: ModelConfig) -> None:
        """Add the config; after that `manifest` and `news` are whole."""
        self._config = self._blob(manifests.CONFIG_MEDIA_TYPE, encode_config(config))

    @property
    def manifest(self) -> Manifest:
        """What to write."""
        assert self._config is not None
        return Manifest(self._config, (*self._files, *self._texts))

    @property
    def news(self) -> list[tuple[Layer, bool]]:
        """Each layer, and whether its blob is yet to be written."""
        made = {self._made, *self.contents}
        return [
            (layer, layer.digest in made and not self._store.blobs.has(layer.digest))
            for layer in self.manifest.layers
        ]
