"""`Registries`: the door of this package; what one node needs to fetch and send models."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx

from ollama_tts.config import Credentials, Settings
from ollama_tts.errors import Unreachable
from ollama_tts.names import DEFAULT_HOST, Digest, ModelName
from ollama_tts.registry.addresses import is_public, literal
from ollama_tts.registry.auth import Login
from ollama_tts.registry.download import Cut, Download, Report, Source
from ollama_tts.registry.hub import Hub
from ollama_tts.registry.key import KeyFile
from ollama_tts.registry.patience import Patience
from ollama_tts.registry.repository import Repository
from ollama_tts.registry.road import Road
from ollama_tts.registry.transfers import Transfers
from ollama_tts.registry.trust import Trust
from ollama_tts.registry.upload import Upload
from ollama_tts.registry.web import Ask, Reach, Web
from ollama_tts.store.blobs import Blobs
from ollama_tts.store.layout import Layout


@dataclass(frozen=True, slots=True)
class Manner:
    """How blobs are moved; tests pass other clocks and smaller parts."""

    patience: Patience = field(default_factory=Patience)
    cut: Cut = field(default_factory=Cut)
    stall_s: float = 30.0


class Registries:
    """Registries and the hub, for one node; belongs to its event loop."""

    def __init__(
        self,
        settings: Settings,
        blobs: Blobs,
        *,
        manner: Manner | None = None,
        road: Road | None = None,
    ) -> None:
        self._settings = settings
        self._blobs = blobs
        self._layout = Layout(settings.models_dir)
        self._manner = manner or Manner()
        self._web = Web(road or Road(settings.proxies), stall_s=self._manner.stall_s)
        self._transfers = Transfers()
        self._key = KeyFile(settings.keys)
        self._trust = Trust.parse(settings.registries)
        self.hub = Hub(
            self._web,
            settings.hub_endpoint,
            settings.hub_token,
            patience=self._manner.patience,
            trust=self._trust,
        )

    @property
    def has_key(self) -> bool:
        """Whether there is a key that names this server."""
        return self._key.exists

    async def repository(
        self, name: ModelName, *, insecure: bool = False, credentials: Credentials | None = None
    ) -> Repository:
        """A model's place at the registry that its name names.

        `insecure` allows http, for this host alone: a host by name is tried with https first.

        Raises:
            Forbidden: OLLAMA_TTS_REGISTRIES does not list the host.
        """
        self._trust.need(name.host)
        credentials = credentials or self._settings.registry_auth.get(name.host.lower())
        schemes = _schemes(name, insecure=insecure)
        scheme = schemes[0] if len(schemes) == 1 else await self._scheme(name, schemes)
        reach = Reach(httpx.URL(f"{scheme}://{name.host}"), self._trust.partners_of(name.host))
        login = Login(self._web, reach, self._key, credentials)
        return Repository(self._web, name, login, self._manner.patience)

    async def _scheme(self, name: ModelName, schemes: tuple[str, ...]) -> str:
        """The first scheme under which the host answers at all; the last one if none does."""
        for scheme in schemes[:-1]:
            home = httpx.URL(f"{scheme}://{name.host}")
            try:
                async with self._web.open(Ask("GET", home.join("/v2/")), Reach(home)):
                    return scheme
            except Unreachable:
                continue
        return schemes[-1]

    def fetch(
        self, digest: Digest, size_bytes: int | None, source: Source
    ) -> AsyncGenerator[tuple[int, int]]:
        """Bring a blob into the store; yields (completed, total) as it goes on.

        Raises:
            OllamaTTSError: It did not come; what was fetched stays for another try.
        """

        async def work(report: Report) -> None:
            await Download(
                self._blobs,
                self._layout,
                digest,
                size_bytes,
                source,
                report,
                self._manner.patience,
                self._manner.cut,
            ).run()

        return self._transfers.follow(digest, size_bytes or 0, work)

    async def send(
        self, repository: Repository, digest: Digest, mount_from: str = ""
    ) -> AsyncGenerator[tuple[int, int]]:
        """Bring a blob of the store to a registry; yields (completed, total) as it goes on.

        `mount_from` is a repository there that may have it.

        Raises:
            BlobNotFound: It is not in the store.
            OllamaTTSError: It did not arrive.
        """
        path = await asyncio.to_thread(self._blobs.path, digest)
        size = await asyncio.to_thread(self._blobs.size_bytes, digest)
        chunk = self._manner.cut.chunk_bytes

        async def work(report: Report) -> None:
            await Upload(repository, digest, path, size, report, chunk, mount_from).run()

        async with aclosing(Transfers().follow(digest, size, work)) as steps:
            async for step in steps:
                yield step

    async def aclose(self) -> None:
        """End all downloads and close all connections."""
        await self._transfers.aclose()
        await self._web.aclose()


def _schemes(name: ModelName, *, insecure: bool) -> tuple[str, ...]:
    """The schemes to try, in order."""
    if name.scheme == "http":
        return ("http",)
    if not insecure or name.host == DEFAULT_HOST:
        return ("https",)
    host = name.host.rpartition(":")[0] or name.host
    near = host == "localhost" or (literal(host) is not None and not is_public(host))
    return ("http",) if near else ("https", "http")
