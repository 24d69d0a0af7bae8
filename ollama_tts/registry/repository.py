"""`Repository`: one model's place at a registry, as the `/v2` protocol shows it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from ollama_tts.errors import InvalidRequest, ModelNotFound
from ollama_tts.names import Digest, ModelName
from ollama_tts.registry.auth import Login
from ollama_tts.registry.download import Body
from ollama_tts.registry.failures import Refused
from ollama_tts.registry.patience import Patience
from ollama_tts.registry.ranges import body_of, range_header
from ollama_tts.registry.web import Ask, BadStatus, Content, Web, allowed, need_success, read_all
from ollama_tts.store.manifests import (
    MANIFEST_MEDIA_TYPE,
    MAX_MANIFEST_BYTES,
    Manifest,
    parse_manifest,
)


@dataclass(slots=True, eq=False)
class Repository:
    """Everything that is asked of a registry about one model."""

    web: Web
    name: ModelName
    login: Login
    patience: Patience = field(default_factory=Patience)

    @property
    def host(self) -> str:
        """The registry's host, with its port where the name has one."""
        return self.login.reach.home.netloc.decode()

    def url(self, path: str) -> httpx.URL:
        """The URL of something below this repository."""
        return self.login.reach.home.join(f"/v2/{self.name.namespace}/{self.name.model}/{path}")

    @asynccontextmanager
    async def ask(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str] | None = None,
        content: Callable[[], Content] | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """A successful answer; challenges are answered on the way.

        Raises:
            Unauthorized: The registry wants more than we can show.
            BadStatus: A status from 400 on.
            Passing: It may work later.
            Refused: A redirect leads where we do not go.
            Unreachable: There is no connection.
        """
        for failed in range(4):
            sent = {**(headers or {}), **self.login.headers}
            async with self.web.open(Ask(method, url, sent, content), self.login.reach) as response:
                if response.status_code != 401 or not self._is_home(response):
                    await need_success(response)
                    yield response
                    return
                challenge = response.headers.get("WWW-Authenticate", "")
            await self.login.answer(challenge, failed)
        raise Refused(f"{self.host} asks for a token again and again")

    def _is_home(self, response: httpx.Response) -> bool:
        return self.login.reach.is_home(response.request.url)

    async def manifest(self) -> tuple[bytes, Manifest]:
        """The manifest, as its bytes are and as it reads.

        Raises:
            ModelNotFound: `file does not exist: …`, with what was looked up where.
            UpstreamFailed: The registry does not answer as it should.
            Unauthorized: It wants more than we can show.
        """
        return await self.patience.tries(self._manifest)

    async def _manifest(self) -> tuple[bytes, Manifest]:
        url = self.url(f"manifests/{self.name.tag}")
        try:
            async with self.ask("GET", url, {"Accept": MANIFEST_MEDIA_TYPE}) as response:
                data = await read_all(response, MAX_MANIFEST_BYTES, "a manifest")
                kind = response.headers.get("Content-Type", "no type")[:80]
        except BadStatus as error:
            if error.status != 404:
                raise
            place = f"{self.name.namespace}/{self.name.model}:{self.name.tag}"
            raise ModelNotFound(f"file does not exist: {self.host} has no {place}") from error
        try:
            return data, parse_manifest(data)
        except InvalidRequest as error:
            raise Refused(f"{self.host} sent {kind}, not a manifest: {error}") from error

    def blob(self, digest: Digest) -> "RemoteBlob":
        """One of the repository's blobs, to be read."""
        return RemoteBlob(self, digest)

    async def has(self, digest: Digest) -> bool:
        """Whether the registry has a blob.

        Raises:
            UpstreamFailed: It does not say.
        """
        try:
            async with self.ask("HEAD", self.url(f"blobs/{digest}")):
                return True
        except BadStatus as error:
            if error.status == 404:
                return False
            raise

    async def begin_upload(self, digest: Digest, mount_from: str = "") -> httpx.URL | None:
        """Where a new blob is sent; None if the registry took it over from `mount_from`.

        Raises:
            UpstreamFailed: The registry refuses.
        """
        url = self.url("blobs/uploads/")
        if mount_from:
            url = url.copy_with(params={"mount": str(digest), "from": mount_from})
        async with self.ask("POST", url, {"Content-Length": "0"}) as response:
            return None if response.status_code == 201 else self.next_url(response)

    def next_url(self, response: httpx.Response, unsaid: httpx.URL | None = None) -> httpx.URL:
        """Where an upload goes on; `unsaid` where the answer does not say.

        Raises:
            Refused: The answer does not say, or leads where we do not go.
        """
        headers = response.headers
        target = headers.get("Docker-Upload-Location")
        if target is None and unsaid is not None:
            return unsaid
        target = target or headers.get("Location")
        if not target:
            raise Refused(f"{self.host} does not say where the upload goes on")
        here, home = response.request.url, self.login.reach.home
        url = here.join(target)
        if url.netloc == home.netloc:  # behind a proxy a registry may not know its own scheme
            return url.copy_with(scheme=home.scheme)
        return allowed(here, target)

    def storage_url(self, response: httpx.Response) -> httpx.URL | None:
        """Where a chunk is to be put instead; None if the registry took it.

        Raises:
            Refused: It leads where we do not go.
        """
        if response.status_code != 307:
            return None
        target = response.headers.get("Location")
        if not target:
            raise Refused(f"{self.host} redirects an upload and does not say where to")
        return allowed(response.request.url, target)

    async def finish_upload(self, url: httpx.URL, digest: Digest, etag: str = "") -> None:
        """Say that a blob is whole; `etag` is what a storage of its chunks calls it.

        Raises:
            UpstreamFailed: The registry has other bytes, or fails.
        """
        named = {"digest": str(digest)} | ({"etag": etag} if etag else {})
        async with self.ask("PUT", url.copy_merge_params(named), {"Content-Length": "0"}):
            return

    async def put_manifest(self, data: bytes) -> None:
        """Let the name mean a manifest, all of whose blobs are there.

        Raises:
            UpstreamFailed: The registry refuses.
        """
        headers = {"Content-Type": MANIFEST_MEDIA_TYPE}
        url = self.url(f"manifests/{self.name.tag}")
        async with self.ask("PUT", url, headers, lambda: data):
            return


@dataclass(frozen=True, slots=True)
class RemoteBlob:
    """A blob at a registry, as a download's source."""

    repository: Repository
    digest: Digest

    @asynccontextmanager
    async def open(self, start: int, stop: int | None) -> AsyncIterator[Body]:
        """The bytes from `start` up to `stop`; the answer may begin at 0 all the same.

        Raises:
            Passing: It may work later.
            UpstreamFailed: It will not.
        """
        url = self.repository.url(f"blobs/{self.digest}")
        async with self.repository.ask("GET", url, range_header(start, stop)) as response:
            yield body_of(response)
