"""`Upstream`: HTTP to the Ollama behind us. Nothing is added but `Via`, no redirect is followed.

Connecting is bounded in time, an answer is not: a language model may take as long as it likes,
and whoever waits for it may leave. Callers read that it failed; only the log reads where and why.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import msgspec

from ollama_tts.errors import OllamaFailed

log = logging.getLogger(__name__)

CONNECT_S = 5.0
WRITE_S = 60.0
LIST_S = 5.0
MAX_LIST_BYTES = 16 * 1024**2
SILENT = "the Ollama behind this server (OLLAMA_UPSTREAM) does not answer"
BROKEN = "the Ollama behind this server (OLLAMA_UPSTREAM) broke off its answer"

HeaderLines = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: `target` is path and query, as they go on the wire."""

    method: str
    target: str
    headers: HeaderLines = ()
    body: bytes = field(default=b"", repr=False)


class Reply:
    """An answer whose body is still to be read."""

    def __init__(self, response: httpx.Response, upstream: "Upstream") -> None:
        self._response = response
        self._upstream = upstream
        self.status = response.status_code
        self.headers: HeaderLines = response.headers.raw
        self.media_type = str(response.headers.get("content-type", "")).partition(";")[0].strip()

    def header(self, name: str) -> str:
        """A header field's text; empty where there is none."""
        return str(self._response.headers.get(name, ""))

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they come, encoded as they are.

        Raises:
            OllamaFailed: The connection broke before the end.
        """
        try:
            async for chunk in self._response.aiter_raw():
                yield chunk
        except httpx.HTTPError as error:
            raise self._upstream.failed(BROKEN, error) from error

    async def read(self, limit_bytes: int) -> bytes:
        """The whole body.

        Raises:
            OllamaFailed: It broke off, or is longer than `limit_bytes`.
        """
        found = bytearray()
        async for chunk in self.chunks():
            found += chunk
            if len(found) > limit_bytes:
                raise OllamaFailed(f"{BROKEN}: longer than {limit_bytes} bytes")
        return bytes(found)


class Upstream:
    """The Ollama at `url` (`http://HOST:PORT`, perhaps with a path before Ollama's own).

    `mark` names this server in the field `Via` of all it sends, so that a request which comes
    back to it is known.
    """

    def __init__(self, url: str, *, connect_s: float = CONNECT_S, list_s: float = LIST_S) -> None:
        self.url = url.rstrip("/")
        self.mark = f"ollama-tts-{secrets.token_hex(8)}"
        self._list_s = list_s
        self._silent = False
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=connect_s, write=WRITE_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=16),
            trust_env=False,
            follow_redirects=False,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def open(self, ask: Ask) -> AsyncIterator[Reply]:
        """The answer to a request, whatever its status; leaving early closes its connection.

        Raises:
            OllamaFailed: There is none.
        """
        headers = [*ask.headers, (b"Via", f"1.1 {self.mark}".encode())]
        try:
            request = httpx.Request(
                ask.method, self.url + ask.target, headers=headers, content=ask.body or None
            )
            response = await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.failed(SILENT, error) from error
        self._answers()
        try:
            yield Reply(response, self)
        finally:
            await response.aclose()

    async def listed(
        self, target: str, key: str, headers: HeaderLines = ()
    ) -> list[dict[str, object]]:
        """The objects under `key` of a GET; none, and one log line, while there is no answer."""
        try:
            async with asyncio.timeout(self._list_s):
                async with self.open(Ask("GET", target, headers)) as reply:
                    body = await reply.read(MAX_LIST_BYTES)
        except TimeoutError as error:
            self.failed(SILENT, error)
            return []
        except OllamaFailed:
            return []
        if reply.status != 200:
            log.warning("upstream %s: GET %s: status %d", self.url, target, reply.status)
            return []
        return _objects(body, key)

    def failed(self, text: str, error: Exception) -> OllamaFailed:
        """The error for a caller; the first of a row is logged, with address and reason."""
        if not self._silent:
            reason = str(error) or type(error).__name__
            log.warning("upstream %s: %s", self.url, reason)
        self._silent = True
        return OllamaFailed(text)

    def _answers(self) -> None:
        if self._silent:
            log.info("upstream %s answers again", self.url)
        self._silent = False


def _objects(body: bytes, key: str) -> list[dict[str, object]]:
    """The objects in a list under a key; none where the body is not of that kind."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return []
    found = value.get(key) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
