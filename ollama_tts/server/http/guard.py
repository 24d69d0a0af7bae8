"""`Guard`: what every request passes before any door sees it. Pure ASGI.

Host and Origin, CORS, API keys, rates, limits of size and time, request ids, slashes, and the
last net under exceptions that nobody foresaw.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from ollama_tts import errors, logs, traces
from ollama_tts.config import Settings
from ollama_tts.server.http.errors import log_unknown, refusal
from ollama_tts.server.http.intake import Intake, check_length, linger
from ollama_tts.server.http.limits import Limits
from ollama_tts.server.http.origins import Caller, OriginRules
from ollama_tts.server.keys import check_key
from ollama_tts.service.rates import Rates

log = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_TOKENS = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,2000}")
_SLASHES = re.compile(r"/{2,}")
_METHODS = "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS"
_OPEN_PATHS = frozenset({"/healthz", "/readyz", "/ui"})  # the page itself asks for the key
_QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
_MAX_AGE_S = 43200


class Guard:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp, settings: Settings, rates: Rates, limits: Limits) -> None:
        self._app = app
        self._settings = settings
        self._rates = rates
        self._limits = limits
        self._rules = OriginRules(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope["path"] = _one_slash(scope["path"])
        identity = _identity(headers)
        scope.setdefault("state", {})["request_id"] = identity
        logs.request_id.set(identity)
        traces.traceparent.set(headers.get("traceparent", ""))
        origin = headers.get("origin")
        answer = _Answer(send, self._marks(identity, origin))
        if scope["type"] == "websocket":
            await self._socket(scope, headers, receive, send)
        else:
            await self._http(scope, headers, receive, answer)

    async def _socket(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        try:
            self._check(scope, headers)
        except errors.OllamaTTSError as error:
            log.warning("socket refused: %s", error)
            await WebSocket(scope, receive, send).send_denial_response(
                refusal(error, scope["path"])
            )
            return
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            log.warning("socket given up: the server stops")

    async def _http(
        self, scope: Scope, headers: Headers, receive: Receive, answer: "_Answer"
    ) -> None:
        started_s = time.monotonic()
        limit = self._limits.of(scope["method"], scope["path"])
        intake = Intake(receive, self._settings, limit)
        try:
            async with _within(limit.answer_s(self._settings)):
                await self._pass(scope, headers, intake, answer)
        except asyncio.CancelledError:
            if not answer.started:
                stopping = errors.Busy("the server stops")
                await refusal(stopping, scope["path"])(scope, receive, answer.send)
            raise
        except Exception as error:  # noqa: BLE001  # the HTTP boundary: nothing unknown gets out
            log_unknown(error)
            if not answer.started:
                await refusal(error, scope["path"])(scope, receive, answer.send)
        if answer.status == 413 and not intake.complete:
            await linger(receive)
        await answer.finish()
        took_ms = (time.monotonic() - started_s) * 1000
        level = logging.DEBUG if scope["path"] in _QUIET_PATHS else logging.INFO
        shown = _shown(scope["path"])
        log.log(level, "%s %s %d %.1f ms", scope["method"], shown, answer.status, took_ms)

    async def _pass(
        self, scope: Scope, headers: Headers, intake: Intake, answer: "_Answer"
    ) -> None:
        """Check, then answer a preflight or let the application answer."""
        try:
            self._check(scope, headers)
            check_length(headers, intake.limit_bytes)
        except errors.OllamaTTSError as error:
            log.warning("refused: %s", error)
            await refusal(error, scope["path"])(scope, intake.receive, answer.send)
            return
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await self._preflight(headers)(scope, intake.receive, answer.send)
            return
        await self._app(scope, intake.receive, answer.send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        origin = headers.get("origin")
        browser = origin is not None or "sec-fetch-site" in headers
        reason = self._rules.refuse(Caller(headers.get("host"), origin, browser))
        if reason is not None:
            raise errors.Forbidden(reason)
        address = scope["client"][0] if scope.get("client") else ""
        scope["state"]["caller"] = address
        if scope.get("method") != "OPTIONS" and not _open(scope["path"]):
            scope["state"]["caller"] = self._known(address, headers) or address
            if scope["path"] not in _QUIET_PATHS:
                self._rates.take(scope["state"]["caller"])

    def _known(self, address: str, headers: Headers) -> str:
        """The name of the caller's key; who guesses keys is counted by address."""
        try:
            return check_key(self._settings.api_keys, headers.get("authorization", ""))
        except errors.Unauthorized:
            self._rates.take(address)
            raise

    def _preflight(self, headers: Headers) -> Response:
        asked = headers.get("access-control-request-headers", "")
        fields = {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Max-Age": str(_MAX_AGE_S),
        }
        if asked and _TOKENS.fullmatch(asked):
            fields["Access-Control-Allow-Headers"] = asked
        return Response(None, 204, fields)

    def _marks(self, identity: str, origin: str | None) -> list[tuple[bytes, bytes]]:
        """Header fields of every answer: the id and, for an allowed origin, CORS.

        Credentials are never allowed, so even `*` gives no page a user's cookies.
        """
        marks = [(b"x-request-id", identity.encode())]
        if origin is None or self._rules.refuse(Caller(None, origin, browser=True)):
            return marks
        allowed = "*" if self._rules.any_origin else origin
        return [
            *marks,
            (b"access-control-allow-origin", allowed.encode("latin-1")),
            (b"access-control-expose-headers", b"X-Request-Id"),
            (b"vary", b"Origin"),
        ]


@asynccontextmanager
async def _within(limit_s: float) -> AsyncIterator[None]:
    """Give up what is inside when its time is over.

    Raises:
        DeadlineExceeded: It was.
    """
    clock = asyncio.timeout(limit_s)
    try:
        async with clock:
            yield
    except TimeoutError as error:
        if not clock.expired():
            raise
        raise errors.DeadlineExceeded(f"the request took longer than {limit_s:g} s") from error


class _Answer:
    """The sending side of one request: adds header fields, and remembers what was sent."""

    def __init__(self, send: Send, marks: Iterable[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._marks = list(marks)
        self._last: Message | None = None
        self.started = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Pass a message on; the end of a 413 is kept back until `finish`."""
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", []), *self._marks]}
            if self.status == 413:
                message["headers"].append((b"connection", b"close"))
        elif self.status == 413 and not message.get("more_body", False):
            self._last = {**message, "body": b""}
            message = {**message, "more_body": True}
        await self._send(message)

    async def finish(self) -> None:
        """Send what was kept back."""
        if self._last is not None:
            await self._send(self._last)


def _open(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith("/ui/")


def _identity(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _shown(path: str) -> str:
    """A path as a log line can hold it: printable, and not longer than a line."""
    return path[:200] if path.isprintable() else ascii(path[:200])


def _one_slash(path: str) -> str:
    """The path without doubled slashes and without one at its end: never a redirect."""
    return _SLASHES.sub("/", path).rstrip("/") or "/"
