"""`Doors`: the doors beside HTTP, gRPC and Wyoming, where the settings ask for them.

Their libraries are extras, imported only here and only then.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Protocol

from ollama_tts.config import Address
from ollama_tts.errors import Failed
from ollama_tts.node import Node

log = logging.getLogger(__name__)


class Door(Protocol):
    """An open door."""

    @property
    def address(self) -> Address:
        """Where it listens, with the port that it got."""

    def drain(self, *, now: bool = False) -> None:
        """Begin nothing new; with `now`, let nothing end either."""

    async def aclose(self) -> None:
        """Drain, wait for what runs as long as `drain` allows, and close."""


Open = Callable[[Node, Address], Awaitable[Door]]


def _grpc() -> Open:
    from ollama_tts.server.rpc.door import open_rpc

    return open_rpc


def _wyoming() -> Open:
    from ollama_tts.server.wyoming.door import open_wyoming

    return open_wyoming


class Doors:
    """All of them. Usage: `async with Doors(node) as doors`; leaving waits as draining does.

    Raises:
        Failed: On entering: an extra is missing, or an address cannot be listened on.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._closing = AsyncExitStack()
        self.open: dict[str, Door] = {}

    async def __aenter__(self) -> "Doors":
        settings = self._node.settings
        async with AsyncExitStack() as opened:
            for extra, address, find in (
                ("grpc", settings.grpc_address, _grpc),
                ("wyoming", settings.wyoming_address, _wyoming),
            ):
                if address is not None:
                    door = await installed(extra, find)(self._node, address)
                    opened.push_async_callback(door.aclose)
                    self.open[extra] = door
                    log.info("listening on %s (%s)", door.address.url.partition("//")[2], extra)
            self._closing = opened.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.drain()
        await self._closing.aclose()

    def drain(self, *, now: bool = False) -> None:
        """Let all doors drain, at the same time."""
        for door in self.open.values():
            door.drain(now=now)


def installed(extra: str, find: Callable[[], Open]) -> Open:
    """What opens the door of an extra.

    Raises:
        Failed: The extra is not installed; the text says how it gets there.
    """
    try:
        return find()
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "ollama_tts":
            raise
        raise Failed(
            f"OLLAMA_TTS_{extra.upper()}_HOST is set, but {missing} is not installed: "
            f"pip install 'ollama-tts[{extra}]'"
        ) from error
