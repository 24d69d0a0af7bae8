"""`Node`: everything one process runs, wired together. A plain object without a port.

HTTP, the command line and tests are doors to the same node. Usage: `async with Node(settings)`.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator
from types import TracebackType

from ollama_tts.backends.cards import Cards, nvml
from ollama_tts.backends.catalog import Catalog
from ollama_tts.cache import SoundCache
from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.memory import MemoryCache
from ollama_tts.config import Settings, let_threads_sleep
from ollama_tts.engine.loop import EngineStats
from ollama_tts.metrics import Metrics
from ollama_tts.protocol.ollama import CreateRequest
from ollama_tts.registry.registries import Registries
from ollama_tts.scheduler import Scheduler
from ollama_tts.service.cached import SoundMemory
from ollama_tts.service.create import CreateService
from ollama_tts.service.events import Progress
from ollama_tts.service.models import ModelService
from ollama_tts.service.pull import PullService
from ollama_tts.service.push import PushService
from ollama_tts.service.rates import Rates
from ollama_tts.service.routing import Routing
from ollama_tts.service.sounds import SoundService
from ollama_tts.service.speech import Records, SpeechService
from ollama_tts.service.spoken import SpokenService
from ollama_tts.service.swaps import Swaps
from ollama_tts.service.turns import counting_turns
from ollama_tts.store.store import Store
from ollama_tts.traces import make_traces
from ollama_tts.upstream.client import Upstream

log = logging.getLogger(__name__)


class Node:
    """Owns store, scheduler and services; belongs to the event loop that enters it.

    `ready` is true between entering and `drain`.
    """

    def __init__(self, settings: Settings) -> None:
        let_threads_sleep()
        self.settings = settings
        self.metrics = Metrics()
        self.catalog = Catalog()
        self.store = Store(
            settings.models_dir,
            prune=settings.prune,
            max_blob_bytes=settings.max_blob_bytes,
            quota_bytes=settings.max_store_bytes,
        )
        self.scheduler = Scheduler(settings, self.catalog, self.metrics)
        self.registries = Registries(settings, self.store.blobs)
        swaps = Swaps(self.store, self.scheduler)
        self.models = ModelService(
            self.store,
            self.scheduler,
            PullService(self.store, self.catalog, self.registries, self._create, swaps=swaps),
            PushService(self.store, self.registries),
            catalog=self.catalog,
            swaps=swaps,
        )
        self.creates = CreateService(self.store, self.models, self.catalog)
        self.sounds = SoundMemory(_cache(settings), self.metrics)
        self.traces = make_traces(settings.otlp_endpoint, settings.service_name, time.time_ns)
        self.rates = Rates(settings.rate_limit, time.monotonic)
        self.routing = Routing(self.models.resolve, self.metrics, random.Random().random)  # noqa: S311  # no secret
        self.speech = SpeechService(
            settings,
            self.routing,
            self.scheduler,
            Records(self.metrics, self.traces),
            memory=self.sounds,
            others=self.catalog.languages(),
        )
        self.turn = counting_turns(self.speech.speak, self.rates, self.metrics)
        self.kept = SoundService(self.sounds.cache, self.routing.voices, self.speech.speak)
        self.upstream = Upstream(settings.upstream) if settings.upstream else None
        self.spoken = SpokenService(self.upstream, self.speech.speak)
        self.ready = False
        self.metrics.watch("queue_depth", lambda: self.scheduler.queue_depth)
        self.metrics.watch("utterances_active", lambda: self.scheduler.active)
        self.metrics.watch("cache_bytes", lambda: _size_bytes(self.sounds))
        self.metrics.watch("batch_size", lambda: sum(e.batch_size for e in self._engines()))
        self.metrics.watch("batch_limit", lambda: sum(e.limit for e in self._engines()))
        self.metrics.watch_back_offs(lambda: self.scheduler.back_offs)
        self.cards = Cards(nvml())
        self.metrics.watch_cards(lambda: self.cards.seen)
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
        await self.registries.aclose()
        if self.upstream is not None:
            await self.upstream.aclose()
        await self.scheduler.shutdown()
        if self.sounds.cache is not None:
            await self.sounds.cache.aclose()
        await asyncio.to_thread(self.traces.close)

    def _create(self, request: CreateRequest) -> AsyncIterator[Progress]:
        return self.creates.create(request)

    def _engines(self) -> list[EngineStats]:
        return self.scheduler.engines()

    def drain(self) -> None:
        """Say that no more work is taken; what runs may end."""
        self.ready = False
        self.kept.drain()


def _cache(settings: Settings) -> SoundCache | None:
    if settings.cache_bytes == 0 and settings.cache_dir is None:
        return None
    disk = None
    if settings.cache_dir is not None:
        try:
            disk = DiskCache(settings.cache_dir, settings.cache_disk_bytes)
        except OSError as error:
            log.warning("OLLAMA_TTS_CACHE_DIR cannot be used, memory alone is: %s", error)
    return SoundCache(MemoryCache(settings.cache_bytes), disk)


def _size_bytes(sounds: SoundMemory) -> int:
    return sounds.cache.size_bytes if sounds.cache is not None else 0
