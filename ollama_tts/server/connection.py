"""One connection: uvicorn's, with an end to headers that trickle in."""

import asyncio
import logging

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from ollama_tts.config import Settings
from ollama_tts.logs import log_level
from ollama_tts.protocol.codec import encode

log = logging.getLogger(__name__)

DRAIN_S = 30
KEEP_ALIVE_S = 75
BACKLOG = 128  # also how often asyncio tries to accept at once, and complains when it cannot
MAX_HEADER_BYTES = 64 * 1024
MAX_READ_BYTES = 256 * 1024  # what asyncio reads from a socket at once
MAX_SOCKET_MESSAGE_BYTES = 1024 * 1024


class ServerConfig(uvicorn.Config):
    """Uvicorn's settings for this server; `header_timeout_s` is ours."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.header_timeout_s = settings.header_timeout_s
        super().__init__(
            app,
            http=Connection,
            ws=Socket,
            ws_max_size=MAX_SOCKET_MESSAGE_BYTES,
            lifespan="off",
            log_config=None,
            log_level=log_level(debug=settings.debug),
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            backlog=BACKLOG,
            timeout_graceful_shutdown=DRAIN_S,
            ssl_certfile=settings.tls.chain if settings.tls else None,
            ssl_keyfile=settings.tls.key if settings.tls else None,
        )


class Connection(HttpToolsProtocol):
    """Closes a connection whose request head is not there in time, or grows without end.

    The clock starts with the connection and with the first byte after each answer; uvicorn's own
    keep-alive limit covers the silence between.
    """

    _waiting: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _head_too_large = False
    _silent_bytes = 0
    _idle = False
    _whole = True

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_clock()

    @override
    def data_received(self, data: bytes) -> None:
        if self._idle and self._whole:  # an early answer leaves a body that is still coming
            self._start_clock()
        if self._waiting is not None:
            self._head_bytes += len(data)
        self._silent_bytes += len(data)
        super().data_received(data)
        if self._silent_bytes > MAX_HEADER_BYTES + MAX_READ_BYTES:  # trailers without end
            self._refuse()
        if self._waiting is not None and self._head_bytes > MAX_HEADER_BYTES:
            self._refuse()

    @override
    def on_response_complete(self) -> None:
        self._idle = not self.pipeline
        super().on_response_complete()

    @override
    def on_body(self, body: bytes) -> None:
        self._silent_bytes = 0
        super().on_body(body)

    @override
    def on_message_begin(self) -> None:
        self._whole = False
        super().on_message_begin()

    @override
    def on_message_complete(self) -> None:
        self._whole = True
        self._silent_bytes = 0
        super().on_message_complete()

    @override
    def on_headers_complete(self) -> None:
        self._stop_clock()
        if self._read_head_bytes() > MAX_HEADER_BYTES:  # it came whole, in one read
            self._head_too_large = True
            raise ValueError("the head of a request is too large")
        super().on_headers_complete()

    def _read_head_bytes(self) -> int:
        fields = sum(len(name) + len(value) + 4 for name, value in self.headers)
        return len(self.parser.get_method()) + len(self.url) + len(" HTTP/1.1\r\n ") + fields + 2

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    @override
    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP at all, or has too large a head, in JSON as every other error."""
        status = "400 Bad Request"
        if self._head_too_large:
            status = "431 Request Header Fields Too Large"
            msg = f"request line and headers may have {MAX_HEADER_BYTES} bytes"
        body = encode({"error": msg})
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: application/json; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]
        """Answer one request; what the end of the drain cancels leaves one line, no trace."""

        async def ending(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await app(scope, receive, send)
            except asyncio.CancelledError:
                log.warning("given up: the server stops")
                cycle.disconnected = True
                cycle.transport.close()

        super()._start_asgi_task(cycle, ending)  # type: ignore[arg-type]

    def _start_clock(self) -> None:
        assert isinstance(self.config, ServerConfig)
        self._idle = False
        self._head_bytes = 0
        self._waiting = self.loop.call_later(self.config.header_timeout_s, self._refuse)

    def _stop_clock(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _refuse(self) -> None:
        """End a connection that never got to its request."""
        self._stop_clock()
        self.transport.close()


class Socket(WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket, for which a refusal with a status of ours ends the handshake too."""

    @override
    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True  # else uvicorn logs that there was no answer
