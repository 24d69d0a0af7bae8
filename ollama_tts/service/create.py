"""`CreateService`: a create request becomes layers, and at the very end a manifest.

What may fail is looked at before the first status line; until the manifest is written nothing
is visible, and leaving earlier leaves nothing behind.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from ollama_tts.errors import BlobNotFound, InvalidRequest, ModelNotFound
from ollama_tts.names import Digest, ModelName
from ollama_tts.protocol.ollama import CreateRequest, PullRequest
from ollama_tts.service import weights
from ollama_tts.service.events import Progress
from ollama_tts.service.models import ModelService
from ollama_tts.service.parameters import quantization_of_tag
from ollama_tts.service.recipe import Info, Recipe, read_recipe
from ollama_tts.service.routing import check_split
from ollama_tts.store import manifests
from ollama_tts.store.config_blob import encode_config
from ollama_tts.store.contents import FILE_TYPES, file_name
from ollama_tts.store.manifests import Layer, Manifest, encode_manifest, parse_manifest
from ollama_tts.store.model import LocalModel, ModelConfig
from ollama_tts.store.store import Store

_TEXTS = (
    manifests.TEMPLATE, manifests.PROMPT, manifests.SYSTEM, manifests.PARAMS,
    manifests.LICENSE, manifests.MESSAGES,
)  # fmt: skip
OFFICIAL_LICENSE = (
    "ChatTTS weights (2Noise): Creative Commons BY-NC 4.0, for research and education only.\n"
    "ChatTTS code: AGPL-3.0."
)


class CreateService:
    """Makes models of one store."""

    def __init__(self, store: Store, models: ModelService) -> None:
        self._store = store
        self._models = models

    async def create(self, request: CreateRequest) -> AsyncGenerator[Progress, None]:
        """Make a model; the last status is `success`.

        Raises:
            InvalidRequest: Something in the request, its blobs or its weights; before the first
                status, and nothing was done.
            Failed: The base could not be pulled, or the store not written.
        """
        recipe = read_recipe(request)
        await asyncio.to_thread(self._need_blobs, recipe)
        if recipe.base is not None and not await asyncio.to_thread(self._has, recipe.base):
            async for progress in self._models.pull(PullRequest(model=recipe.base.full)):
                if progress.status != "success":
                    yield progress
        draft = await asyncio.to_thread(self._draft, recipe)
        for layer, fresh in draft.news:
            verb = "creating new" if fresh else "using existing"
            yield Progress(f"{verb} layer {layer.digest}")
        yield Progress("writing manifest")
        await asyncio.to_thread(self._store.commit, recipe.name, draft.manifest, draft.contents)
        yield Progress("success")

    def _has(self, name: ModelName) -> bool:
        try:
            return bool(self._store.get(name))
        except ModelNotFound:
            return False

    def _need_blobs(self, recipe: Recipe) -> None:
        for name, digest in (*recipe.files.items(), *recipe.adapters.items()):
            if not self._store.blobs.has(digest):
                raise InvalidRequest(
                    f'{name}: blob "{digest}" not found; upload it to /api/blobs/{digest} first'
                )

    def _draft(self, recipe: Recipe) -> "_Draft":
        base: LocalModel | None = None
        layers: tuple[Layer, ...] = ()
        if recipe.base is not None:
            base, manifest = self._store.read(recipe.base)
            layers = manifest.layers
        draft = _Draft(self._store, layers)
        config = self._weights(draft, recipe, base)
        for name, digest in recipe.adapters.items():
            weights.check_adapter(name, self._path(digest))
            draft.put_file(Layer(manifests.ADAPTER, digest, self._size(digest), name))
        _texts(draft, recipe, base)
        self._parameters(draft, recipe, base, config)
        draft.finish(_described(config, recipe, base))
        parse_manifest(encode_manifest(draft.manifest))  # over the limits is said before a status
        return draft

    def _weights(self, draft: "_Draft", recipe: Recipe, base: LocalModel | None) -> ModelConfig:
        """Put the files in; gives the config that they and the base make."""
        places = weights.in_official_places(recipe.files)
        paths = {places[name]: self._path(digest) for name, digest in recipe.files.items()}
        for name, digest in recipe.files.items():
            kind = weights.media_type(places[name], self._path(digest))
            draft.put_file(Layer(kind, digest, self._size(digest), places[name]))
        if base is None:
            config = weights.inspect(paths)
            if config.embedding_length and not any(n == "config.json" for n in paths):
                draft.licenses.append(OFFICIAL_LICENSE)
            return config
        if paths and base.files:
            found = weights.inspect({**base.files, **paths})
            return replace(found, capabilities=base.config.capabilities)
        if paths:
            raise InvalidRequest(
                f"unknown type: '{base.name.short}' comes with a package and takes no files"
            )
        return base.config

    def _parameters(
        self, draft: "_Draft", recipe: Recipe, base: LocalModel | None, config: ModelConfig
    ) -> None:
        """Key by key, the new value wins; a list replaces a list."""
        merged = {**(base.parameters if base else {}), **recipe.parameters}
        by_tag = quantization_of_tag(recipe.name.tag) if config.model_format == "chattts" else None
        if by_tag is not None and "quantization" not in merged:
            merged["quantization"] = by_tag
        if split := merged.get("split"):
            check_split(recipe.name, str(split), self._models.resolve)
        if merged:
            draft.put_text(manifests.PARAMS, msgspec.json.encode(merged))

    def _path(self, digest: Digest) -> Path:
        try:
            return self._store.blobs.path(digest)
        except BlobNotFound as error:
            raise InvalidRequest(str(error)) from error

    def _size(self, digest: Digest) -> int:
        return self._store.blobs.size_bytes(digest)


class _Draft:
    """A manifest in the making. Nothing of it is on disk but the blobs that were there."""

    def __init__(self, store: Store, base: tuple[Layer, ...]) -> None:
        self._store = store
        self._files = [layer for layer in base if layer.media_type not in _TEXTS]
        self._base_texts = [layer for layer in base if layer.media_type in _TEXTS]
        self._texts: list[Layer] = []
        self._config: Layer | None = None
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
        return [
            (layer, layer.digest in self.contents and not self._store.blobs.has(layer.digest))
            for layer in self.manifest.layers
        ]


def _texts(draft: _Draft, recipe: Recipe, base: LocalModel | None) -> None:
    """Template, system and messages replace the base's; licences join them."""
    for text, media_types in (
        (recipe.template, (manifests.TEMPLATE, manifests.PROMPT)),
        (recipe.system, (manifests.SYSTEM,)),
    ):
        if text:
            draft.put_text(media_types[0], text.encode("utf-8", "replace"))
        elif base is not None:
            draft.keep(*media_types)
    draft.keep(manifests.LICENSE)
    for text in (*draft.licenses, *recipe.licenses):
        draft.put_text(manifests.LICENSE, text.encode("utf-8", "replace"))
    if recipe.messages:
        raw = [{"role": m.role, "content": m.content} for m in recipe.messages]
        draft.put_text(manifests.MESSAGES, msgspec.json.encode(raw))
    else:
        draft.keep(manifests.MESSAGES)


def _described(config: ModelConfig, recipe: Recipe, base: LocalModel | None) -> ModelConfig:
    """The config with what the request says about it."""
    info: Info = recipe.info
    named: Mapping[str, object] = {"general.basename": info.base_name} if info.base_name else {}
    return replace(
        config,
        parent_model=base.name.short if base else "",
        requires=recipe.requires or config.requires,
        model_family=info.model_family or config.model_family,
        quantization=info.quantization_level or config.quantization,
        parameter_size=info.parameter_size or config.parameter_size,
        context_length=info.context_length or config.context_length,
        embedding_length=info.embedding_length or config.embedding_length,
        capabilities=tuple(dict.fromkeys((*config.capabilities, *info.capabilities))),
        info={**config.info, **named},
    )
