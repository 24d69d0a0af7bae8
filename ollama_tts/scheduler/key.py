"""What two requests must have in common to speak on one loaded model."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from ollama_tts.backends.base import Merging
from ollama_tts.errors import InvalidOption
from ollama_tts.options import LoadOptions, resolve
from ollama_tts.scheduler.loading import Backends
from ollama_tts.store.model import LocalModel

_BOTH = (False, True)


class Keys:
    """Gives each model its key, once its backend was asked what becomes of its adapters."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def of(self, model: LocalModel, options: LoadOptions) -> str:
        """The key of a model that is loaded with these options.

        Raises:
            InvalidRequest: The adapters cannot be used with these options.
        """
        merges = bool(model.adapters) and await self._merges(model, options)
        return key_of(model, merges=merges)

    async def _merges(self, model: LocalModel, options: LoadOptions) -> bool:
        backend = await asyncio.to_thread(self._backends.backend, model.config.model_format)
        if not isinstance(backend, Merging):
            return False
        return await asyncio.to_thread(backend.merges, model, options)


class Kept:
    """What in memory some stored models speak on."""

    def __init__(self, stored: Iterable[LocalModel]) -> None:
        self._views = {(key_of(m, merges=b), m.adapters_key) for m in stored for b in _BOTH}
        self._keys = {key for key, _ in self._views}

    def model(self, key: str) -> bool:
        """Whether the model in memory that `key` stands for is one of theirs."""
        return key in self._keys

    def view(self, key: str, model: LocalModel) -> bool:
        """Whether the adapters of `model` are wanted there."""
        return (key, model.adapters_key) in self._views


def key_of(model: LocalModel, *, merges: bool) -> str:
    """Stands for one model in memory; names and manifests are no part of it.

    It is made of the digests of format and files; of those of the adapters, where they become part
    of the weights (`merges`) and are not laid over them for each request; and of how the model
    itself, not the request, asks to be loaded: models of the same files in two precisions can
    both stay.
    """
    return "|".join((model.weights_key, model.adapters_key if merges else "", _own_load(model)))


def serves(key: str, model: LocalModel) -> bool:
    """Whether what is in memory under `key` speaks for `model`."""
    return key in {key_of(model, merges=merges) for merges in _BOTH}


def _own_load(model: LocalModel) -> str:
    """The load options that a model's own parameters set; how long to pretend is none of them."""
    try:
        load = resolve(model.parameters).load
    except InvalidOption as error:
        return f"damaged: {error}"
    return repr(replace(load, tone_load_s=0.0))
