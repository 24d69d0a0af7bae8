"""`Node`: everything one process runs, wired together. A plain object without a port.

HTTP, the command line and tests are doors to the same node. Usage: `async with Node(settings)`.
"""

import asyncio
from types import TracebackType

from ollama_tts.backends.catalog import Catalog
from ollama_tts.config import Settings
from ollama_tts.metrics import Metrics
from ollama_tts.scheduler import Scheduler
from ollama_tts.service.create import CreateService
from ollama_tts.service.models import ModelService
from ollama_tts.service.speech import SpeechService
from ollama_tts.store.store import Store


class Node:
    """Owns store, scheduler and services; belongs to the event loop that enters it.

    `ready` is true between entering and `drain`.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.catalog = Catalog()
        self.store = Store(
            settings.models_dir, prune=settings.prune, max_blob_bytes=settings.max_blob_bytes
        )
        self.scheduler = Scheduler(settings, self.catalog, self.metrics)
        self.models = ModelService(self.store, self.scheduler, self.catalog)
        self.creates = CreateService(self.store, self.models)
        self.speech = SpeechService(
            settings,
            self.models.resolve,
            self.scheduler,
            self.metrics,
            others=self.catalog.languages(),
        )
        self.ready = False
        self.metrics.watch("queue_depth", lambda: self.scheduler.queue_depth)
        self.metrics.watch("utterances_active", lambda: self.scheduler.active)
        self.metrics.watch("models_loaded", lambda: len(self.scheduler.loaded()))

    async def __aenter__(self) -> "Node":
        await asyncio.to_thread(self.store.open, self.catalog.package_models())
        self.ready = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.drain()
        await self.scheduler.shutdown()

    def drain(self) -> None:
        """Say that no more work is taken; what runs may end."""
        self.ready = False
