"""The services that keep models, around a real store, scheduler and catalog."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ollama_tts.backends.catalog import Catalog
from ollama_tts.config import Settings
from ollama_tts.metrics import Metrics
from ollama_tts.names import ModelName
from ollama_tts.protocol.ollama import CreateRequest, ShowRequest, ShowResponse
from ollama_tts.registry.registries import Registries
from ollama_tts.scheduler import Scheduler
from ollama_tts.service.create import CreateService
from ollama_tts.service.events import Progress
from ollama_tts.service.models import ModelService
from ollama_tts.service.pull import PullService
from ollama_tts.service.push import PushService
from ollama_tts.service.swaps import Swaps
from ollama_tts.store.model import LocalModel
from ollama_tts.store.store import Store
from tests.support.stores import upload

NOBODY = "127.0.0.1:9"  # the only registry that these services may ask: nothing listens there
MINI = Path(__file__).parent.parent / "data/chattts-mini"


@dataclass(frozen=True)
class Services:
    """What a node holds for models, without its speech."""

    store: Store
    scheduler: Scheduler
    models: ModelService
    creates: CreateService

    async def create(self, **fields: object) -> list[str]:
        """Make a model; gives all statuses."""
        request = CreateRequest(**fields)  # type: ignore[arg-type]  # the test says what it sends
        return await statuses(self.creates.create(request))

    async def show(self, model: str) -> ShowResponse:
        """`show`, with nothing laid over."""
        return await self.models.show(ShowRequest(model=model))

    def get(self, model: str) -> LocalModel:
        """The stored model."""
        return self.store.get(ModelName.parse(model))

    def names(self) -> set[str]:
        """The short names of all models."""
        return {model.name.short for model in self.store.list()}

    def upload(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Put files in the store; gives the field `files`."""
        return {name: str(upload(self.store, data)) for name, data in files.items()}


def services(models_dir: Path) -> Services:
    """Services on a store with the package voices in it."""
    catalog = Catalog()
    store = Store(models_dir)
    store.open(catalog.package_models())
    settings = Settings(models_dir=models_dir, registries=(NOBODY,))
    scheduler = Scheduler(settings, catalog, Metrics())
    registries = Registries(settings, store.blobs)

    def make(request: CreateRequest) -> AsyncIterator[Progress]:
        return creates.create(request)

    swaps = Swaps(store, scheduler)
    models = ModelService(
        store,
        scheduler,
        PullService(store, catalog, registries, make, swaps=swaps),
        PushService(store, registries),
        catalog=catalog,
        swaps=swaps,
    )
    creates = CreateService(store, models, catalog)
    return Services(store, scheduler, models, creates)


async def statuses(progress: AsyncIterator[Progress]) -> list[str]:
    """The status of each line."""
    return [line.status async for line in progress]


def mini_files() -> dict[str, bytes]:
    """The files of the small checkpoint, by relative path."""
    return {
        path.relative_to(MINI).as_posix(): path.read_bytes()
        for path in sorted(MINI.rglob("*"))
        if path.suffix in {".json", ".safetensors"}
    }
