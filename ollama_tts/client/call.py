"""One exchange with the server, without the sending: requests, failures, lines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import httpx
import msgspec

from ollama_tts.config import Address, Settings, client_key, parse_address
from ollama_tts.errors import (
    Busy,
    Cancelled,
    DeadlineExceeded,
    Failed,
    Forbidden,
    InvalidRequest,
    NotFound,
    OllamaFailed,
    OllamaTTSError,
    OutOfMemory,
    TooLarge,
    TooMany,
    Unauthorized,
    Unreachable,
    UpstreamFailed,
)
from ollama_tts.protocol.ollama import ErrorResponse
from ollama_tts.version import __version__

T = TypeVar("T")

_FAILURES: Mapping[int, type[OllamaTTSError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    413: TooLarge,
    499: Cancelled,
    502: OllamaFailed,
    504: DeadlineExceeded,
    507: OutOfMemory,
}


@dataclass(frozen=True, slots=True)
class Call:
    """A request: method, path, body, and the headers that go with the body."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, method: str, path: str, body: object) -> "Call":
        """A request whose body is `body` as JSON."""
        headers = {"Content-Type": "application/json"}
        return cls(method, path, msgspec.json.encode(body), headers)


@dataclass(frozen=True, slots=True)
class Target:
    """Which server, and as whom."""

    address: Address
    api_key: str
    default_model: str

    @classmethod
    def choose(cls, host: str | None, api_key: str | None) -> "Target":
        """The server named by the arguments, and where they are None by the environment.

        Raises:
            InvalidRequest: The host is not an address.
        """
        settings = Settings.from_env()
        return cls(
            settings.address if host is None else parse_address(host),
            client_key() if api_key is None else api_key,
            settings.default_model or "hibari",
        )

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        headers = {"User-Agent": f"ollama-tts/{__version__}"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers

    @property
    def trust_env(self) -> bool:
        """Whether proxies of the environment apply; never to this machine, as in Go's client."""
        return not parse_address(self.address.client_url).loopback


def decode(body: bytes, kind: type[T]) -> T:
    """A body as a struct.

    Raises:
        msgspec.MsgspecError: The body is not that.
    """
    return msgspec.json.decode(body, type=kind)


def answer(body: bytes, kind: type[T]) -> T:
    """The struct in the body of a successful answer.

    Raises:
        UpstreamFailed: The body is something else, so the server is not of this protocol.
    """
    try:
        return decode(body, kind)
    except msgspec.MsgspecError as error:
        raise UpstreamFailed(f"the server's answer does not parse: {error}") from error


def failure(response: httpx.Response) -> OllamaTTSError:
    """The exception that a status of 400 or more stands for; its body must have been read."""
    status = response.status_code
    try:
        text = decode(response.content, ErrorResponse).error
    except msgspec.MsgspecError:
        text = response.text.strip() or f"{status} {response.reason_phrase}"
    if status in {429, 503}:
        kind = TooMany if status == 429 else Busy
        return kind(text, _whole_seconds(response.headers.get("Retry-After", "")))
    if status in _FAILURES:
        return _FAILURES[status](text)
    return InvalidRequest(text) if status < 500 else Failed(text)


def lost(error: httpx.TransportError, address: Address) -> OllamaTTSError:
    """The exception that a failed exchange stands for."""
    if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
        return UpstreamFailed(f"the server at {address.client_url} fell silent")
    text = re.sub(r"\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Unreachable(f"could not connect to {address.client_url}: {text}")
    return Unreachable(f"the connection to {address.client_url} broke: {text}")


class Lines:
    """Bytes as they arrive, cut at line feeds only."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their line feeds and without blank ones."""
        head, feed, rest = data.partition(b"\n")
        self._rest.append(head)
        if not feed:
            return []
        *complete, last = rest.split(b"\n")
        lines = [*self.finish(), *(line for line in complete if line.strip())]
        self._rest = [last]
        return lines

    def finish(self) -> list[bytes]:
        """The last line, where it had no line feed."""
        line = b"".join(self._rest)
        self._rest = []
        return [line] if line.strip() else []


def _whole_seconds(text: str) -> int:
    return int(text) if text.isdecimal() else 1
