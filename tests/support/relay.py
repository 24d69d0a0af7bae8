"""A relay on loopback in front of a server: counts what passes, and can hold it up half-way."""

import selectors
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

PATIENCE_S = 30.0
_PIECE_BYTES = 16 * 1024
_LOOK_S = 0.05


class Relay:
    """Carries connections to `target` (`host:port`). `down` and `up` count the bytes that servers
    and clients sent; past `hold_down` or `hold_up` of them everything stands still until
    `release`.
    """

    def __init__(self, target: str) -> None:
        self.down = self.up = 0
        self.hold_down: int | None = None
        self.hold_up: int | None = None
        self._target = target
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._held = threading.Event()
        relay = self

        class Carrier(socketserver.BaseRequestHandler):
            @override
            def handle(self) -> None:
                relay._carry(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Carrier)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def held(self) -> bool:
        """Whether it stands still."""
        return self._held.is_set()

    def release(self) -> None:
        """Hold nothing up any more; counting begins anew."""
        with self._lock:
            self.hold_down = self.hold_up = None
            self.down = self.up = 0

    @contextmanager
    def running(self) -> Iterator["Relay"]:
        """Up for as long as the block lasts."""
        thread = threading.Thread(target=self._server.serve_forever, args=(_LOOK_S,))
        thread.start()
        try:
            yield self
        finally:
            self._closing.set()
            self._server.shutdown()
            thread.join(PATIENCE_S)
            self._server.server_close()

    def _carry(self, near: socket.socket) -> None:
        host, _, port = self._target.partition(":")
        with (
            socket.create_connection((host, int(port))) as far,
            selectors.DefaultSelector() as ready,
        ):
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            while not self._closing.is_set():
                for key, _ in ready.select(_LOOK_S):
                    assert isinstance(key.fileobj, socket.socket)
                    if not self._pass(key.fileobj, key.data, downwards=key.data is near):
                        return

    def _pass(self, source: socket.socket, target: socket.socket, *, downwards: bool) -> bool:
        """Carry what lies ready; whether the connection goes on."""
        try:
            data = source.recv(_PIECE_BYTES)
            if not data or not self._may_pass(len(data), downwards=downwards):
                return False
            target.sendall(data)
        except OSError:
            return False
        return True

    def _may_pass(self, count: int, *, downwards: bool) -> bool:
        """Count bytes; where they are held up, whether they may pass after that: they may not."""
        with self._lock:
            limit = self.hold_down if downwards else self.hold_up
            there = self.down if downwards else self.up
            if limit is None or there + count <= limit:
                self.down += count * downwards
                self.up += count * (not downwards)
                return True
        self._held.set()
        while not self._closing.wait(_LOOK_S):
            with self._lock:
                if self.hold_down is self.hold_up is None:
                    return False
        return False
