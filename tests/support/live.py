"""A live server: uvicorn on a free loopback port, in a thread of its own, around a real node.

Tests reach it as any client would, and its node through `run` and `until`.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ollama_tts.config import Address, Settings
from ollama_tts.node import Node
from ollama_tts.server.connection import ServerConfig
from ollama_tts.server.http.app import create_http
from ollama_tts.server.run import Server
from ollama_tts.server.sockets import bind

T = TypeVar("T")

PATIENCE_S = 30.0


class LiveServer:
    """What a test holds of a running server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.node: Node
        self.address: Address
        self._loop: asyncio.AbstractEventLoop
        self._server: Server
        self._up: Future[None] = Future()
        self._thread = threading.Thread(target=self._live, name="live-server", daemon=True)

    @property
    def url(self) -> str:
        """Where it listens, `http://127.0.0.1:PORT`."""
        return self.address.url

    def start(self) -> None:
        """Come up; returns when requests are answered."""
        self._thread.start()
        self._up.result(PATIENCE_S)

    def stop(self) -> None:
        """Go down as on SIGTERM; returns when the thread is over."""
        self._loop.call_soon_threadsafe(setattr, self._server, "should_exit", True)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the server did not stop"

    def leave(self, patience_s: int) -> None:
        """Begin to go down; running answers get `patience_s` to end."""
        self._server.config.timeout_graceful_shutdown = patience_s
        self._loop.call_soon_threadsafe(setattr, self._server, "should_exit", True)

    def run(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Run something on the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(PATIENCE_S)

    def read(self, look: Callable[[Node], T]) -> T:
        """A look at the node, on its own loop."""

        async def work() -> T:
            return look(self.node)

        return self.run(work)

    def until(self, true: Callable[[Node], bool]) -> None:
        """Return as soon as something is true of the node; fail if it never is."""

        async def work() -> None:
            found = asyncio.get_running_loop().create_future()
            self._look(true, found)
            async with asyncio.timeout(PATIENCE_S):
                await found

        self.run(work)

    def _look(self, true: Callable[[Node], bool], found: asyncio.Future[None]) -> None:
        if found.done():
            return
        if true(self.node):
            found.set_result(None)
        else:
            self._loop.call_later(0.002, self._look, true, found)

    def metric(self, name: str, **labels: str) -> float:
        """The value of a metric now; 0 where it was never counted."""
        value = self.read(lambda node: node.metrics.registry.get_sample_value(name, labels))
        return value or 0.0

    def _live(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if not self._up.done():
                self._up.set_exception(error)
            raise

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        sockets = bind(self.settings.address)
        self.address = replace(self.settings.address, port=sockets[0].getsockname()[1])
        async with Node(self.settings) as node:
            self.node = node
            self._server = Server(ServerConfig(create_http(node), self.settings))
            self._loop.call_soon(self._up.set_result, None)
            await self._server.serve(sockets)


def settings_for(models_dir: Path) -> Settings:
    """Settings of a test server: a free port, a store of its own."""
    return Settings(address=Address("127.0.0.1", 0), models_dir=models_dir)


@contextmanager
def serving(settings: Settings) -> Iterator[LiveServer]:
    """A live server for as long as the block lasts."""
    server = LiveServer(settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()
