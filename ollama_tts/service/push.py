"""`PushService`: a model of the store goes to a registry, byte for byte."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from ollama_tts.errors import InvalidName, InvalidRequest, ModelNotFound, Unauthorized
from ollama_tts.names import DEFAULT_HOST, ModelName
from ollama_tts.protocol.ollama import PushRequest
from ollama_tts.registry.registries import Registries
from ollama_tts.registry.repository import Repository
from ollama_tts.registry.trust import take_login
from ollama_tts.service.events import Progress
from ollama_tts.store.manifests import Layer
from ollama_tts.store.store import Store


class PushService:
    """Pushes of one store."""

    def __init__(self, store: Store, registries: Registries) -> None:
        self._store = store
        self._registries = registries

    async def push(self, request: PushRequest) -> AsyncGenerator[Progress]:
        """Send a model to the registry that its name names.

        Raises:
            InvalidRequest: No name; raised before the first status.
            ModelNotFound: There is no such model.
            Unauthorized: The registry refuses.
            UpstreamFailed: It does not answer as it should.
        """
        if not request.asked:
            raise InvalidRequest("model is required")
        yield Progress("retrieving manifest")
        text, credentials = take_login(request.asked)
        name = ModelName.parse(text)
        try:
            shelved = await asyncio.to_thread(self._store.manifest, name)
        except ModelNotFound:
            yield Progress("couldn't retrieve manifest")
            raise
        if name.host == DEFAULT_HOST and not self._registries.has_key and not credentials:
            raise Unauthorized(
                f"unauthorized: access denied: {DEFAULT_HOST} takes models from those who signed "
                "in there; this server has no key"
            )
        repository = await self._registries.repository(
            name, insecure=request.insecure, credentials=credentials
        )
        for layer in {layer.digest: layer for layer in shelved.manifest.blobs()}.values():
            async with aclosing(self._blob(repository, layer)) as steps:
                async for step in steps:
                    yield step
        yield Progress("pushing manifest")
        await repository.patience.tries(lambda: repository.put_manifest(shelved.data))
        yield Progress("success")

    async def _blob(self, repository: Repository, layer: Layer) -> AsyncGenerator[Progress]:
        source = _mount_source(layer, repository.name)
        async with aclosing(self._registries.send(repository, layer.digest, source)) as steps:
            async for completed, total in steps:
                yield Progress(f"pushing {layer.digest.short}", str(layer.digest), total, completed)


def _mount_source(layer: Layer, name: ModelName) -> str:
    """The repository on the same host that a layer says it came from; empty where it does not."""
    try:
        source = ModelName.parse(layer.from_)
    except InvalidName:
        return ""
    same = source.host.lower() == name.host.lower()
    return f"{source.namespace}/{source.model}" if same else ""
