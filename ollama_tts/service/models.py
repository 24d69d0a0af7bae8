"""`ModelService`: list, show, copy, delete, pull and push, in Ollama's words.

Error texts differ by endpoint, as Ollama's do. Disk work runs in threads.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace

from ollama_tts.backends.base import Facts
from ollama_tts.backends.catalog import Catalog
from ollama_tts.errors import InvalidName, InvalidRequest, LoadFailed, ModelNotFound
from ollama_tts.names import ModelName
from ollama_tts.protocol.ollama import (
    CopyRequest,
    DeleteRequest,
    ListResponse,
    ProcessResponse,
    PullRequest,
    PushRequest,
    RunningModel,
    ShowRequest,
    ShowResponse,
)
from ollama_tts.scheduler import LoadedModel, Scheduler
from ollama_tts.service.events import Progress
from ollama_tts.service.pull import PullService
from ollama_tts.service.push import PushService
from ollama_tts.service.shown import details, listed, shown
from ollama_tts.service.swaps import Swaps
from ollama_tts.store.model import LocalModel
from ollama_tts.store.store import Store

log = logging.getLogger(__name__)


class ModelService:
    """What can be asked of the models of one store."""

    def __init__(
        self,
        store: Store,
        scheduler: Scheduler,
        pulls: PullService,
        pushes: PushService,
        *,
        catalog: Catalog,
        swaps: Swaps,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._scheduler = scheduler
        self.swaps = swaps
        self._pulls = pulls
        self._pushes = pushes

    def resolve(self, text: str) -> LocalModel:
        """The model that a request to speak names.

        Raises:
            ModelNotFound: `model 'X' not found`, X as it was written, and what would bring it
                where that is an extra.
            InvalidName: The text is no name.
        """
        if not text.strip():
            raise ModelNotFound("model '' not found")
        name = ModelName.parse_reference(text)
        try:
            return self.swaps.still(name) or self._store.get(name)
        except ModelNotFound as error:
            hint = self._pulls.extra_hint(name)
            raise ModelNotFound(f"model '{text}' not found{hint}") from error

    async def list(self) -> ListResponse:
        """All models, newest first."""
        models = await asyncio.to_thread(self._store.list)
        return ListResponse(models=[listed(model) for model in models])

    def ps(self) -> ProcessResponse:
        """The models in memory, the one that stays longest first."""
        return ProcessResponse(
            models=[each for entry in self._scheduler.loaded() for each in _running(entry)]
        )

    async def show(self, request: ShowRequest) -> ShowResponse:
        """Everything about one model.

        Raises:
            InvalidRequest: No name, or none that is valid.
            ModelNotFound: With the name's short form.
        """
        if not request.asked:
            raise InvalidRequest("model is required")
        name = ModelName.parse_reference(request.asked)
        model = await asyncio.to_thread(self._store.get, name)
        facts = await asyncio.to_thread(self._facts, model)
        return shown(replace(model, name=name), facts, request)

    def _facts(self, model: LocalModel) -> Facts:
        """What the model's files tell; nothing where they are damaged: the rest is still shown."""
        try:
            return self._catalog.facts(model)
        except (InvalidRequest, LoadFailed) as error:
            log.warning("the files of %s cannot be shown: %s", model.name.short, error)
            return Facts({})

    async def copy(self, request: CopyRequest) -> None:
        """Give a model a second name.

        Raises:
            InvalidName: Which of the two names is not valid.
            ModelNotFound: There is no source.
        """
        source = _name(request.source, f'source "{request.source}" is invalid')
        destination = _name(request.destination, f'destination "{request.destination}" is invalid')
        try:
            await self.swaps.change(destination, lambda: self._store.copy(source, destination))
        except ModelNotFound as error:
            raise ModelNotFound(f'model "{request.source}" not found') from error

    async def delete(self, request: DeleteRequest) -> None:
        """Remove a model.

        If it is loaded and no other model shares its weights, it leaves memory once the requests
        that speak on it have ended.

        Raises:
            InvalidRequest: No name, or none that is valid.
            ModelNotFound: With the name as it was written.
        """
        asked = request.asked
        if not asked:
            raise InvalidRequest("model is required")
        name = _reference(asked, f'name "{asked}" is invalid')
        try:
            await asyncio.to_thread(self._store.delete, name)
        except ModelNotFound as error:
            raise ModelNotFound(f"model '{asked}' not found") from error
        await self.swaps.let_go()

    def pull(self, request: PullRequest) -> AsyncGenerator[Progress]:
        """`PullService.pull`."""
        return self._pulls.pull(request)

    def push(self, request: PushRequest) -> AsyncGenerator[Progress]:
        """`PushService.push`."""
        return self._pushes.push(request)


def _running(entry: LoadedModel) -> list[RunningModel]:
    """The rows of ps for one loaded model: the one that had it loaded, then its guests.

    The first row's sizes are those of what all share; a guest's are what it adds.
    """
    memory = [(entry.model, entry.size_bytes, entry.vram_bytes)]
    memory += [(guest.model, guest.size_bytes, guest.vram_bytes) for guest in entry.guests]
    return [
        RunningModel(
            name=model.name.short,
            model=model.name.short,
            size=size,
            digest=model.digest.hex,
            details=details(model),
            expires_at=entry.expires_at.astimezone(),
            size_vram=vram,
            context_length=entry.context_length,
            shares="" if model is entry.model else entry.name.short,
        )
        for model, size, vram in memory
    ]


def _name(text: str, refusal: str) -> ModelName:
    try:
        return ModelName.parse(text)
    except InvalidName as error:
        raise InvalidName(refusal) from error


def _reference(text: str, refusal: str) -> ModelName:
    try:
        return ModelName.parse_reference(text)
    except InvalidName as error:
        raise InvalidName(refusal if "both" not in str(error) else str(error)) from error
