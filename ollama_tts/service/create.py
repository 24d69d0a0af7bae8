"""`CreateService`: a create request becomes layers, and at the very end a manifest.

What may fail is looked at before the first status line; until the manifest is written nothing
is visible, and leaving earlier leaves nothing behind.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from ollama_tts.backends.base import Conversion
from ollama_tts.backends.catalog import Catalog
from ollama_tts.errors import BlobNotFound, InvalidRequest, ModelNotFound
from ollama_tts.names import Digest, ModelName
from ollama_tts.protocol.ollama import CreateRequest, PullRequest
from ollama_tts.service import weights
from ollama_tts.service.draft import Draft
from ollama_tts.service.events import Progress
from ollama_tts.service.models import ModelService
from ollama_tts.service.parameters import quantization_of_tag
from ollama_tts.service.quantize import written
from ollama_tts.service.recipe import Info, Recipe, read_recipe
from ollama_tts.service.routing import check_split
from ollama_tts.store import manifests
from ollama_tts.store.blobs import BlobWriter
from ollama_tts.store.contents import FILE_TYPES, file_name
from ollama_tts.store.manifests import Layer, encode_manifest, parse_manifest
from ollama_tts.store.model import LocalModel, ModelConfig
from ollama_tts.store.store import Store

OFFICIAL_LICENSE = (
    "ChatTTS weights (2Noise): Creative Commons BY-NC 4.0, for research and education only.\n"
    "ChatTTS code: AGPL-3.0."
)


class CreateService:
    """Makes models of one store."""

    def __init__(self, store: Store, models: ModelService, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
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
        with ExitStack() as stack:
            writer: BlobWriter | None = None
            if draft.conversion is not None:
                writer = stack.enter_context(self._store.blobs.writing())
                async with aclosing(self._converted(draft, draft.conversion, writer)) as steps:
                    async for progress in steps:
                        yield progress
            for layer, fresh in draft.news:
                verb = "creating new" if fresh else "using existing"
                yield Progress(f"{verb} layer {layer.digest}")
            yield Progress("writing manifest")
            commit = partial(
                self._store.commit, recipe.name, draft.manifest, draft.contents, writer
            )
            await self._models.swaps.change(recipe.name, commit)
        yield Progress("success")

    async def _converted(
        self, draft: Draft, conversion: Conversion, writer: BlobWriter
    ) -> AsyncGenerator[Progress]:
        """The weights of a draft written anew, and put into it."""
        yield Progress("converting model")
        async with aclosing(written(conversion, writer)) as steps:
            async for progress in steps:
                yield progress
        yield Progress("verifying conversion")
        await asyncio.to_thread(weights.inspect, {"model.gguf": writer.path})
        draft.put_weights(Layer(manifests.MODEL, writer.digest, writer.size_bytes))

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

    def _draft(self, recipe: Recipe) -> Draft:
        base: LocalModel | None = None
        layers: tuple[Layer, ...] = ()
        if recipe.base is not None:
            base, manifest = self._store.read(recipe.base)
            layers = manifest.layers
        draft = Draft(self._store, layers)
        config = self._weights(draft, recipe, base)
        for name, digest in recipe.adapters.items():
            weights.check_adapter(name, self._path(digest))
            draft.put_file(Layer(manifests.ADAPTER, digest, self._size(digest), name))
        if recipe.adapters and config.model_format == "chattts":
            weights.check_adapters(draft.paths(*FILE_TYPES), draft.paths(manifests.ADAPTER))
        _texts(draft, recipe, base)
        config = self._planned(draft, recipe, config)
        self._parameters(draft, recipe, base, config)
        draft.finish(_described(config, recipe, base))
        parse_manifest(encode_manifest(draft.manifest))  # over the limits is said before a status
        return draft

    def _weights(self, draft: Draft, recipe: Recipe, base: LocalModel | None) -> ModelConfig:
        """Put the files in; gives the config that they and the base make."""
        places = weights.in_official_places(recipe.files)
        paths = {places[name]: self._path(digest) for name, digest in recipe.files.items()}
        for name, digest in recipe.files.items():
            kind = weights.media_type(places[name], self._path(digest))
            draft.put_file(Layer(kind, digest, self._size(digest), places[name]))
        if base is None:
            config = weights.inspect(paths)
            draft.licenses += weights.licenses(paths) or _official_license(paths)
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
        self, draft: Draft, recipe: Recipe, base: LocalModel | None, config: ModelConfig
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

    def _planned(self, draft: Draft, recipe: Recipe, config: ModelConfig) -> ModelConfig:
        """Plan to write the draft's weights anew, where that is asked for and would change them."""
        files = {file_name(layer): self._path(layer.digest) for layer in draft.weights}
        if not recipe.precision or not files:
            return config
        conversion = self._catalog.conversion(
            config.model_format, files, recipe.precision, draft.license_texts
        )
        if conversion.before == conversion.after:
            return config
        draft.plan(conversion)
        return replace(config, quantization=conversion.after)

    def _path(self, digest: Digest) -> Path:
        try:
            return self._store.blobs.path(digest)
        except BlobNotFound as error:
            raise InvalidRequest(str(error)) from error

    def _size(self, digest: Digest) -> int:
        return self._store.blobs.size_bytes(digest)


def _official_license(paths: Mapping[str, Path]) -> tuple[str, ...]:
    """The licence of a checkpoint that says nothing of its sizes: it has the official ones."""
    own = "config.json" in paths or any(name.endswith(".gguf") for name in paths)
    return () if own else (OFFICIAL_LICENSE,)


def _texts(draft: Draft, recipe: Recipe, base: LocalModel | None) -> None:
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
