"""Pulls and pushes around a real store, with a clock that never makes anyone wait."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ollama_tts.backends.catalog import Catalog
from ollama_tts.config import Credentials, Proxies, Settings
from ollama_tts.metrics import Metrics
from ollama_tts.names import ModelName
from ollama_tts.protocol.ollama import CreateRequest, PullRequest, PushRequest
from ollama_tts.registry.download import Cut
from ollama_tts.registry.patience import Patience
from ollama_tts.registry.registries import Manner, Registries
from ollama_tts.registry.road import Road
from ollama_tts.scheduler import Scheduler
from ollama_tts.service.create import CreateService
from ollama_tts.service.events import Progress
from ollama_tts.service.models import ModelService
from ollama_tts.service.pull import PullService
from ollama_tts.service.push import PushService
from ollama_tts.service.swaps import Swaps
from ollama_tts.store.store import Store
from tests.support.stores import commit

PART_BYTES = 64 * 1024
BLOCK_BYTES = 16 * 1024


def cut_in(part_bytes: int) -> Cut:
    """Three parts of some size at a time, and chunks of as much."""
    return Cut(part_bytes, parallel=3, block_bytes=BLOCK_BYTES, chunk_bytes=part_bytes)


@dataclass(slots=True, eq=False)
class Pauses:
    """Takes the place of sleeping: keeps how long it would have been."""

    taken: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.taken.append(seconds)


@dataclass(slots=True, eq=False)
class Place:
    """One machine that pulls and pushes."""

    store: Store
    registries: Registries
    models: ModelService
    creates: CreateService
    pauses: Pauses
    blobs_dir: Path

    async def pull(self, name: str, *, insecure: bool = True) -> list[Progress]:
        """All lines of a pull."""
        request = PullRequest(model=name, insecure=insecure)
        return [step async for step in self.models.pull(request)]

    async def push(self, name: str, *, insecure: bool = True) -> list[Progress]:
        """All lines of a push."""
        request = PushRequest(model=name, insecure=insecure)
        return [step async for step in self.models.push(request)]

    def manifest(self, name: str) -> bytes:
        """The bytes of a model's manifest."""
        return self.store.manifest(ModelName.parse(name)).data

    def commit(self, name: str, files: Mapping[str, bytes]) -> bytes:
        """Make a model of some files; gives its manifest's bytes."""
        commit(self.store, name, files)
        return self.manifest(name)

    def names(self) -> set[str]:
        """The short names of all models."""
        return {model.name.short for model in self.store.list()}

    def partials(self) -> list[str]:
        """What unfinished downloads left."""
        return sorted(path.name for path in self.blobs_dir.glob("*-partial*"))


def place(
    models_dir: Path,
    *,
    registries: tuple[str, ...] = ("*",),
    auth: Mapping[str, Credentials] | None = None,
    hub: str = "http://127.0.0.1:9",
    token: str = "",
    proxies: Proxies | None = None,
    cut: Cut | None = None,
    road: Road | None = None,
    stall_s: float = 20.0,
    window_s: float = 30.0,
) -> Place:
    """A machine with an empty store; close its `registries` at the end."""
    settings = Settings(
        models_dir=models_dir,
        registries=registries,
        registry_auth=auth or {},
        hub_endpoint=hub,
        hub_token=token,
        proxies=proxies or Proxies(),
        shared_key=models_dir.parent / "elsewhere" / "id_ed25519",
    )
    pauses = Pauses()
    manner = Manner(
        Patience(sleep=pauses.sleep, window_s=window_s),
        cut or cut_in(PART_BYTES),
        stall_s=stall_s,
    )
    store = Store(models_dir)
    reached = Registries(settings, store.blobs, manner=manner, road=road)

    def make(request: CreateRequest) -> AsyncIterator[Progress]:
        return creates.create(request)

    catalog = Catalog()
    scheduler = Scheduler(settings, catalog, Metrics())
    swaps = Swaps(store, scheduler)
    models = ModelService(
        store,
        scheduler,
        PullService(store, catalog, reached, make, swaps=swaps),
        PushService(store, reached),
        catalog=catalog,
        swaps=swaps,
    )
    creates = CreateService(store, models, catalog)
    return Place(store, reached, models, creates, pauses, models_dir / "blobs")
