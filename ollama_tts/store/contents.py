"""A manifest seen as a `LocalModel`: files by role, parameters, texts.

    media type              becomes
    model, json, tensor     `files[name]`; a GGUF without a name is `model.gguf`
    FILE (ours)             `files[name]`
    adapter                 `adapters[name]`
    template, prompt        `template` (the last one)
    system                  `system` (the last one)
    params                  `parameters` (later layers win, key by key)
    messages                `messages`
    license                 `licenses`, in order
    anything else           nothing, as in stock Ollama

A name that is no valid path gives way to the digest; nothing is looked up by it.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from ollama_tts.errors import InvalidName, InvalidRequest
from ollama_tts.names import RelativePath
from ollama_tts.store import manifests
from ollama_tts.store.blobs import Blobs
from ollama_tts.store.config_blob import MAX_CONFIG_BYTES, decode_config
from ollama_tts.store.layout import Layout
from ollama_tts.store.manifests import Layer, Manifest
from ollama_tts.store.model import LocalModel, Message
from ollama_tts.store.shelf import Shelved

_T = TypeVar("_T")

MAX_TEXT_BYTES = 4 * 1024 * 1024
FILE_TYPES = (manifests.MODEL, manifests.JSON_FILE, manifests.TENSOR, manifests.FILE)


class _MessageJSON(msgspec.Struct):
    role: str
    content: str


def assemble(shelved: Shelved, blobs: Blobs, layout: Layout) -> LocalModel:
    """The model of one manifest. Weights are named, not opened; texts are read.

    Raises:
        BlobNotFound: The config or a text is not there.
        InvalidRequest: The config, the parameters or the messages are damaged.
        StoreFailed: Something cannot be read, or is over its limit.
    """
    manifest = shelved.manifest
    config = decode_config(blobs.read(manifest.config.digest, MAX_CONFIG_BYTES))
    template = _texts(blobs, manifest.of(manifests.TEMPLATE, manifests.PROMPT))
    system = _texts(blobs, manifest.of(manifests.SYSTEM))
    adapters = list(manifest.of(manifests.ADAPTER))
    return LocalModel(
        name=shelved.name,
        digest=shelved.digest,
        weights_key=_key(config.model_format, manifest.of(*FILE_TYPES)),
        config=config,
        files=_paths(layout, manifest.of(*FILE_TYPES)),
        adapters=_paths(layout, adapters),
        parameters=_parameters(blobs, manifest),
        template=template[-1] if template else "",
        system=system[-1] if system else "",
        licenses=tuple(_texts(blobs, manifest.of(manifests.LICENSE))),
        messages=_messages(blobs, manifest),
        size_bytes=manifest.size_bytes,
        modified_at=shelved.modified_at,
        adapters_key=_key("", adapters) if adapters else "",
    )


def _key(model_format: str, layers: Iterable[Layer]) -> str:
    """Equal for two models of one format with the same files."""
    lines = sorted(f"{layer.digest} {layer.name}" for layer in layers)
    return hashlib.sha256("\n".join([model_format, *lines]).encode()).hexdigest()


def file_name(layer: Layer) -> str:
    """The relative path of a file layer, or its digest where it bears no valid one."""
    if not layer.name:
        return "model.gguf" if layer.media_type == manifests.MODEL else layer.digest.filename
    try:
        return RelativePath.parse(layer.name).text
    except InvalidName:
        return layer.digest.filename


def _paths(layout: Layout, layers: Iterable[Layer]) -> dict[str, Path]:
    return {file_name(layer): layout.blob(layer.digest) for layer in layers}


def _texts(blobs: Blobs, layers: Iterable[Layer]) -> list[str]:
    return [blobs.read(layer.digest, MAX_TEXT_BYTES).decode("utf-8", "replace") for layer in layers]


def _parameters(blobs: Blobs, manifest: Manifest) -> dict[str, object]:
    merged: dict[str, object] = {}
    for layer in manifest.of(manifests.PARAMS):
        merged.update(_json(blobs, layer, dict[str, object], "parameters"))
    return merged


def _messages(blobs: Blobs, manifest: Manifest) -> tuple[Message, ...]:
    found: list[Message] = []
    for layer in manifest.of(manifests.MESSAGES):
        raw = _json(blobs, layer, list[_MessageJSON], "messages")
        found.extend(Message(message.role, message.content) for message in raw)
    return tuple(found)


def _json(blobs: Blobs, layer: Layer, kind: type[_T], what: str) -> _T:
    try:
        return msgspec.json.decode(blobs.read(layer.digest, MAX_TEXT_BYTES), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"{what} are damaged: {error}") from error
