"""The serving process: sockets, one node, uvicorn, and a farewell that ends."""

import asyncio
import errno
import logging
import math
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from typing_extensions import override

from ollama_tts import logs
from ollama_tts.config import Settings
from ollama_tts.errors import InvalidRequest
from ollama_tts.node import Node
from ollama_tts.server.connection import ServerConfig
from ollama_tts.server.doors import Doors
from ollama_tts.server.http.app import create_http
from ollama_tts.server.sockets import bind
from ollama_tts.server.tls import read_pem
from ollama_tts.upstream.loops import refuse_loop
from ollama_tts.version import __version__

log = logging.getLogger(__name__)

_TOO_MANY = frozenset({errno.EMFILE, errno.ENFILE})


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; running answers get `DRAIN_S` to end. Blocks.

    Raises:
        Failed: An address cannot be listened on, an extra is missing, or the certificate is
            unfit; the text names it.
        InvalidRequest: The upstream is this server itself.
    """
    logs.set_up(debug=settings.debug, style=settings.log_format)
    allow_many_connections()
    asyncio.run(_serve(settings, _bound(settings)))


def _bound(settings: Settings) -> Sequence[socket.socket]:
    if settings.tls is not None:
        read_pem(settings.tls)
    sockets = bind(settings.address)
    try:
        refuse_loop(settings.upstream, [each.getsockname()[:2] for each in sockets])
    except InvalidRequest:
        for each in sockets:
            each.close()
        raise
    return sockets


async def _serve(settings: Settings, sockets: Sequence[socket.socket]) -> None:
    asyncio.get_running_loop().set_exception_handler(Complaints())
    async with Node(settings) as node, Doors(node) as doors:
        server = Server(ServerConfig(create_http(node), settings))
        for listening in sockets:
            log.info("listening on %s (version %s)", _shown(listening), __version__)
        with _signals(server, node, doors):
            await server.serve(list(sockets))
    log.info("stopped")


class Complaints:
    """The event loop's exception handler: lack of open files is told once a minute.

    asyncio would tell it, with a traceback, each of the many times that it tries to accept.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told_s = -math.inf

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what the loop complains about."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _TOO_MANY:
            loop.default_exception_handler(context)
        elif self._clock() - self._told_s >= 60:
            self._told_s = self._clock()
            log.error("no more open files: connections wait (raise the limit, ulimit -n)")


def allow_many_connections() -> None:
    """Raise the soft limit of open files to the hard one: a connection is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _shown(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Server(uvicorn.Server):
    """Uvicorn that leaves signals to `serve`.

    Uvicorn raises a caught SIGTERM once more when it is done, which would end the process before
    the node has closed.
    """

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@contextmanager
def _signals(server: uvicorn.Server, node: Node, doors: Doors) -> Iterator[None]:
    """The first signal drains, a second one ends at once."""

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True
        node.drain()
        doors.drain(now=server.force_exit)

    loop = asyncio.get_running_loop()
    both = (signal.SIGTERM, signal.SIGINT)
    for number in both:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in both:
            loop.remove_signal_handler(number)
