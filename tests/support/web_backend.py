"""A web application's backend: the browser asks it with GET, it asks the server and passes on."""

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from typing_extensions import override

PATIENCE_S = 30.0
FIRST_BYTES = 64 * 1024
FIRST_WAV_BYTES = 256 * 1024
"""Passed on before the rest is held back. Chromium's `<audio>` takes blocks of 32 KiB, and looks
at some 200 KB of a WAV before it believes that it is one."""
PAGE = b"<!doctype html><title>-</title><button>Click before sound</button>"


class Relay:
    """`/` is a page with a button; `/FORMAT` is `text` spoken by `tone`, streamed as it comes.

    What follows after the first bytes is held back until `go_on` is set.
    """

    def __init__(self, server_url: str, text: str) -> None:
        self._url = f"{server_url}/v1/audio/speech"
        self._text = text
        self.go_on = threading.Event()

    def asked(self, name: str) -> contextlib.AbstractContextManager[httpx.Response]:
        """The server's answer in a format."""
        body = {"model": "tone", "input": self._text, "response_format": name}
        return httpx.stream("POST", self._url, json=body, timeout=60)

    def pieces(self, answer: httpx.Response, first_bytes: int) -> Iterator[bytes]:
        """An answer as it is passed on."""
        sent = 0
        for chunk in answer.iter_raw():
            if sent < first_bytes <= sent + len(chunk):
                yield chunk[: first_bytes - sent]
                self.go_on.wait(PATIENCE_S)
                yield chunk[first_bytes - sent :]
            else:
                yield chunk
            sent += len(chunk)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for all


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, relay: Relay, *others: object) -> None:
        self._relay = relay
        super().__init__(*others)  # type: ignore[arg-type]

    def do_GET(self) -> None:  # the name that the library calls
        name = self.path.strip("/")
        with contextlib.suppress(ConnectionError):
            if name in {"", "favicon.ico"}:
                self._head("text/html")
                self.wfile.write(PAGE)
                return
            with self._relay.asked(name) as answer:
                self._head(answer.headers["content-type"])
                first_bytes = FIRST_WAV_BYTES if name == "wav" else FIRST_BYTES
                for piece in self._relay.pieces(answer, first_bytes):
                    self.wfile.write(piece)

    def _head(self, media_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.end_headers()

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def relaying(server_url: str, text: str) -> Iterator[tuple[Relay, str]]:
    """A relay in front of a server, and where it listens."""
    relay = Relay(server_url, text)
    with _Server(("127.0.0.1", 0), partial(_Handler, relay)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield relay, f"http://127.0.0.1:{server.server_port}"
        finally:
            relay.go_on.set()
            server.shutdown()
            thread.join(PATIENCE_S)
