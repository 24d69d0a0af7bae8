"""`Web`: HTTP requests under rules about where they may lead, with errors in sentences.

Redirects are followed here, one by one. A request that began at a named host never goes on to
another scheme, from https to http, or to a private address, and what it authorizes itself with
stays at the named host. `Reach` holds what is trusted; `Web.open` is the only way out.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import httpx

from ollama_tts.errors import UpstreamFailed
from ollama_tts.registry.failures import Passing, Refused, explained
from ollama_tts.registry.road import PROXY, TRUSTED, Road, place_of
from ollama_tts.version import __version__

MAX_REDIRECTS = 10
MAX_ERROR_BYTES = 2048
AGENT = f"ollama-tts/{__version__}"
Content = bytes | AsyncIterator[bytes]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class BadStatus(UpstreamFailed):
    """An answer with a status of 400 or more. `status` is the number, `text` the body's start."""

    def __init__(self, host: str, status: int, text: str) -> None:
        super().__init__(f"{status}: {text or phrase(status)} ({host})")
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `content` makes the body anew for every try."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str] = field(default_factory=dict)
    content: Callable[[], Content] | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """What a request may touch: `home` is the host that was named, with scheme and port.

    `partners` are other hosts (`host` or `host:port`) that the settings list for it: they may
    lie at private addresses, and be asked for tokens.
    """

    home: httpx.URL
    partners: frozenset[str] = frozenset()

    def is_home(self, url: httpx.URL) -> bool:
        """Whether a URL is of the named host itself: same scheme, name and port."""
        return origin(url) == origin(self.home)

    def trusts(self, url: httpx.URL) -> bool:
        """Whether a URL's host was named by the model's name or by the settings."""
        there = origin(url)[1:]
        return there == origin(self.home)[1:] or self.is_partner(url)

    def is_partner(self, url: httpx.URL) -> bool:
        """Whether the settings list a URL's host for the named host."""
        host, port = origin(url)[1:]
        return not self.partners.isdisjoint({host, f"{host}:{port}"})


def origin(url: httpx.URL) -> tuple[str, str, int]:
    """Scheme, host and port, the port always there."""
    return url.scheme, url.host, url.port or {"https": 443}.get(url.scheme, 80)


def phrase(status: int) -> str:
    """What a status means, in words."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "unknown status"


class Web:
    """HTTP over one `Road`. `stall_s` is how long an answer may give no byte."""

    def __init__(self, road: Road, *, connect_s: float = 15.0, stall_s: float = 30.0) -> None:
        timeout = httpx.Timeout(stall_s, connect=connect_s, pool=None)
        self._road = road
        self._client = httpx.AsyncClient(
            transport=road, timeout=timeout, trust_env=False, follow_redirects=False
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def open(self, ask: Ask, reach: Reach) -> AsyncIterator[httpx.Response]:
        """The answer to a request, its body still to be read; GET and HEAD follow redirects.

        The header `Authorization` goes to the named host alone. Any status is an answer.

        Raises:
            Refused: A redirect leads where we do not go, or there are too many.
            Unreachable: No connection; the text names the URL and the reason.
            Passing: The connection broke or stalled.
        """
        response = await self._follow(ask, reach)
        try:
            with explained(ask.method, response.request.url, _proxy_of(response)):
                yield response
        finally:
            await response.aclose()

    async def _follow(self, ask: Ask, reach: Reach) -> httpx.Response:
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._send(ask, reach)
            target = response.headers.get("Location")
            moved = response.status_code in _REDIRECTS and target is not None
            if not moved or ask.method not in {"GET", "HEAD"}:
                return response
            await response.aclose()
            ask = replace(ask, url=allowed(ask.url, target))
        raise Refused(f"{reach.home.netloc.decode()} redirects more than {MAX_REDIRECTS} times")

    async def _send(self, ask: Ask, reach: Reach) -> httpx.Response:
        headers = {"User-Agent": AGENT, "Accept-Encoding": "identity", **ask.headers}
        if not reach.is_home(ask.url):
            headers.pop("Authorization", None)
        with explained(ask.method, ask.url, place_of(self._road.proxy(ask.url))):
            request = self._client.build_request(
                ask.method, ask.url, headers=headers, content=ask.content and ask.content()
            )
            request.extensions = {**request.extensions, TRUSTED: reach.trusts(ask.url)}
            return await self._client.send(request, stream=True)


async def need_success(response: httpx.Response) -> None:
    """Return if the status is under 400 and the body is as it was stored.

    Raises:
        Refused: The body is compressed, though that was not asked for.
        Passing: Too many requests, or the server is in trouble.
        BadStatus: Any other status from 400 on; with what the body says.
    """
    if response.status_code < 400:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise Refused(f"{response.request.url.host} compresses what it was asked for as it is")
        return
    text = await read_start(response, MAX_ERROR_BYTES)
    error = BadStatus(response.request.url.host, response.status_code, _printable(text))
    if response.status_code in _PASSING:
        raise Passing(str(error), _retry_after_s(response)) from error
    raise error


async def read_all(response: httpx.Response, limit_bytes: int, what: str) -> bytes:
    """The whole body.

    Raises:
        Refused: It is larger than `limit_bytes`.
        Passing: The connection broke or stalled.
    """
    data = await read_start(response, limit_bytes + 1)
    if len(data) > limit_bytes:
        host = response.request.url.host
        raise Refused(f"{what} from {host} is larger than {limit_bytes} bytes")
    return data


async def read_start(response: httpx.Response, limit_bytes: int) -> bytes:
    """The body's first bytes, at most so many; the rest is not read.

    Raises:
        Passing: The connection broke or stalled.
    """
    found = bytearray()
    async with aclosing(chunks_of(response)) as chunks:
        async for chunk in chunks:
            found += chunk
            if len(found) >= limit_bytes:
                break
    return bytes(found[:limit_bytes])


async def chunks_of(response: httpx.Response) -> AsyncGenerator[bytes]:
    """The body as it comes.

    Raises:
        Passing: The connection broke or stalled.
    """
    with explained(response.request.method, response.request.url, _proxy_of(response)):
        async for chunk in response.aiter_raw():
            yield chunk


def allowed(here: httpx.URL, target: str) -> httpx.URL:
    """The URL that a redirect leads to, if its scheme may be followed.

    Raises:
        Refused: It is another scheme than http(s), or goes from https back to http.
    """
    try:
        url = here.join(target)
    except httpx.InvalidURL as error:
        raise Refused(f"{here.host} redirects to an address that is none") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise Refused(f"{here.host} redirects to the scheme {url.scheme[:20]!r}; allowed: https")
    if here.scheme == "https" and url.scheme == "http":
        raise Refused(f"{here.host} redirects from https to http, at {url.host}")
    return url.copy_with(userinfo=b"")


def _proxy_of(response: httpx.Response) -> str:
    return str(response.extensions.get(PROXY, ""))


def _retry_after_s(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() and len(text) < 6 else 0.0


def _printable(data: bytes) -> str:
    """An error body as one line: the text of a JSON error, else its beginning; HTML is dropped."""
    text = data.decode("utf-8", "replace").strip()
    if text[:1] == "<":
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]
