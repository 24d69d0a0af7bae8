"""A server that answers as a script says: for failures that a healthy server does not have."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from typing_extensions import override


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `cut` closes the connection without any answer; `short` announces more than
    it sends."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    short: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Scripted:
    """Gives `replies` in order, the last one for ever, and keeps what was asked."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(size)
                reply = scripted.take(Request(self.command, self.path, dict(self.headers), body))
                if reply.cut:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body) + 10 * reply.short))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(reply.body)
                self.close_connection = reply.short

            do_GET = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815

            @override
            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_address[1]}"

    def take(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


Script = Callable[..., Scripted]
"""Starts a server with the replies it is given."""


@contextmanager
def scripting() -> Iterator[Script]:
    """Starts scripted servers; all are closed with the block."""
    started: list[tuple[Scripted, threading.Thread]] = []

    def start(*replies: Reply) -> Scripted:
        server = Scripted(replies)
        thread = threading.Thread(target=server.server.serve_forever, args=(0.01,))
        thread.start()
        started.append((server, thread))
        return server

    try:
        yield start
    finally:
        for server, thread in started:
            server.server.shutdown()
            thread.join()
            server.server.server_close()
