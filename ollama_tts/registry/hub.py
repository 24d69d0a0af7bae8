"""The model hub's HTTP API: what a repository holds at a revision, and its files.

HF_ENDPOINT names the hub or a mirror; HF_TOKEN goes to that host alone, never to where it
redirects.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import msgspec

from ollama_tts.errors import InvalidName, InvalidOption, ModelNotFound
from ollama_tts.names import Digest, RelativePath
from ollama_tts.registry.download import Body
from ollama_tts.registry.failures import Refused
from ollama_tts.registry.patience import Patience
from ollama_tts.registry.ranges import body_of, range_header
from ollama_tts.registry.trust import Trust
from ollama_tts.registry.web import Ask, BadStatus, Reach, Web, need_success, read_all

HOSTS = frozenset({"hf.co", "huggingface.co"})
MAX_LISTING_BYTES = 16 * 1024 * 1024
MAX_SMALL_BYTES = 16 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository. Size and digest where the hub tells them (it does for weights).

    `git_hash` is git's own hash of a file that git itself keeps: small ones, as it were.
    """

    path: str
    size_bytes: int | None = None
    digest: Digest | None = None
    git_hash: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository at one commit."""

    repository: str
    commit: str
    files: Sequence[HubFile]


class _Weights(msgspec.Struct):
    sha256: str = ""
    size: int | None = None


class _Sibling(msgspec.Struct):
    rfilename: str
    size: int | None = None
    blob_id: str = msgspec.field(default="", name="blobId")
    lfs: _Weights | None = None


class _Listing(msgspec.Struct):
    sha: str
    siblings: list[_Sibling] = []


class Hub:
    """One hub, or a mirror of it."""

    def __init__(
        self, web: Web, endpoint: str, token: str, *, patience: Patience, trust: Trust
    ) -> None:
        self._web = web
        self._endpoint = endpoint
        self._token = token
        self._patience = patience
        self._trust = trust

    async def snapshot(self, repository: str, revision: str) -> Snapshot:
        """What a repository holds at a revision (branch, tag or commit).

        Raises:
            ModelNotFound: There is no such repository or revision, or it is closed to us.
            UpstreamFailed: The hub does not answer as it should.
            Forbidden: OLLAMA_TTS_REGISTRIES does not list the hub's host.
        """
        self._trust.need(self.host)
        path = f"api/models/{quote(repository)}/revision/{quote(revision, safe='')}?blobs=true"
        try:
            data = await self._patience.tries(lambda: self._get(path, MAX_LISTING_BYTES))
        except BadStatus as error:
            if error.status not in {401, 403, 404}:
                raise
            hint = "" if self._token else "; HF_TOKEN opens closed ones"
            raise ModelNotFound(
                f"file does not exist: {self.host} has no {repository} at {revision} "
                f"that is open to us{hint}"
            ) from error
        return parse_listing(repository, data, self.host)

    @property
    def host(self) -> str:
        """The hub's host."""
        return self._url("").netloc.decode()

    async def read(self, snapshot: Snapshot, file: HubFile) -> bytes:
        """The whole of a small file.

        Raises:
            UpstreamFailed: It did not come, is not small, or not what the hub lists.
        """
        url = _file_path(snapshot, file.path)
        data = await self._patience.tries(lambda: self._get(url, MAX_SMALL_BYTES))
        if file.size_bytes not in {None, len(data)}:
            raise Refused(
                f"{self.host} sends {len(data)} bytes of {file.path}, not {file.size_bytes}"
            )
        if file.git_hash and _git_hash(data) != file.git_hash:
            raise Refused(f"{self.host} sends other bytes of {file.path} than it lists")
        return data

    def blob(self, snapshot: Snapshot, path: str) -> "HubBlob":
        """A file, as a download's source."""
        return HubBlob(self, _file_path(snapshot, path))

    async def _get(self, path: str, limit_bytes: int) -> bytes:
        async with self.ask(path, {}) as response:
            return await read_all(response, limit_bytes, path.partition("?")[0])

    @asynccontextmanager
    async def ask(self, path: str, headers: dict[str, str]) -> AsyncIterator[httpx.Response]:
        """A successful answer for something below the endpoint.

        Raises:
            BadStatus: A status from 400 on.
            UpstreamFailed: There is no answer.
            InvalidOption: HF_ENDPOINT is no address.
        """
        if self._token:
            headers = {**headers, "Authorization": f"Bearer {self._token}"}
        url = self._url(path)
        reach = Reach(url, self._trust.partners_of(self.host))
        async with self._web.open(Ask("GET", url, headers), reach) as response:
            await need_success(response)
            yield response

    def _url(self, path: str) -> httpx.URL:
        try:
            url = httpx.URL(f"{self._endpoint}/{path}")
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in {"http", "https"} or not url.host:
            raise InvalidOption(f"HF_ENDPOINT {self._endpoint!r} is not http(s)://HOST")
        return url


@dataclass(frozen=True, slots=True)
class HubBlob:
    """A file on the hub, as a download's source."""

    hub: Hub
    path: str

    @asynccontextmanager
    async def open(self, start: int, stop: int | None) -> AsyncIterator[Body]:
        """The bytes from `start` up to `stop`; the answer may begin at 0 all the same.

        Raises:
            Passing: It may work later.
            UpstreamFailed: It will not.
        """
        async with self.hub.ask(self.path, range_header(start, stop)) as response:
            yield body_of(response)


def _file_path(snapshot: Snapshot, path: str) -> str:
    return f"{quote(snapshot.repository)}/resolve/{snapshot.commit}/{quote(path)}"


def parse_listing(repository: str, data: bytes, host: str) -> Snapshot:
    """What a hub at `host` says of a repository.

    Raises:
        Refused: It is no list of files, or lists what cannot be.
    """
    try:
        found = msgspec.json.decode(data, type=_Listing)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"{host} answered with something that is no list of files") from error
    if not _COMMIT.fullmatch(found.sha):
        raise Refused(f"{host} names the commit {found.sha[:60]!r}, which is none")
    files = [_file(sibling, host) for sibling in found.siblings]
    return Snapshot(repository, found.sha, files)


def _file(sibling: _Sibling, host: str) -> HubFile:
    try:
        path = RelativePath.parse(sibling.rfilename).text
        weights = sibling.lfs
        digest = Digest.parse(f"sha256:{weights.sha256}") if weights and weights.sha256 else None
    except InvalidName as error:
        raise Refused(f"{host} lists a file that cannot be: {error}") from error
    size = weights.size if weights and weights.size is not None else sibling.size
    if size is not None and size < 0:
        raise Refused(f"{host} lists a file of {size} bytes")
    return HubFile(path, size, digest, "" if weights else sibling.blob_id)


def _git_hash(data: bytes) -> str:
    """What git calls a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
