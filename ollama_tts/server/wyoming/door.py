"""The Wyoming server: sockets, one `Talk` a connection, and an end that drains."""

import asyncio
import logging
from dataclasses import replace

from ollama_tts import logs
from ollama_tts.config import Address
from ollama_tts.errors import OllamaTTSError
from ollama_tts.node import Node
from ollama_tts.server.draining import Draining
from ollama_tts.server.sockets import bind
from ollama_tts.server.wyoming.talk import Talk
from ollama_tts.server.wyoming.wire import MAX_LINE_BYTES

log = logging.getLogger(__name__)

VARIABLE = "OLLAMA_TTS_WYOMING_HOST"


async def open_wyoming(node: Node, address: Address) -> "WyomingDoor":
    """Listen; gives the open door.

    Raises:
        Failed: The address cannot be listened on; the text names it.
    """
    door = WyomingDoor(node, address)
    await door.start()
    return door


class WyomingDoor:
    """The Wyoming server of a node. `address` has the port that it got."""

    def __init__(self, node: Node, address: Address) -> None:
        self.address = address
        self._node = node
        self._draining = Draining()
        self._servers: list[asyncio.Server] = []
        self._talks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen on every meaning of the address."""
        if self._node.settings.api_keys:
            log.warning("%s: the Wyoming protocol knows no API keys; anyone who reaches %s speaks",
                        VARIABLE, self.address.url.partition("//")[2])  # fmt: skip
        sockets = bind(self.address, VARIABLE)
        self.address = replace(self.address, port=sockets[0].getsockname()[1])
        self._servers = [
            await asyncio.start_server(self._connected, sock=one, limit=MAX_LINE_BYTES)
            for one in sockets
        ]

    def drain(self, *, now: bool = False) -> None:
        """Take no new connection; turns that have begun may end, unless `now`."""
        for server in self._servers:
            server.close()
        self._draining.begin(now=now)

    async def aclose(self) -> None:
        """Drain, then close what is left."""
        self.drain()
        await self._draining.over()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with self._draining.work():
                await self._serve(Talk(self._node, self._draining, reader, writer))
        except (OSError, EOFError):
            log.info("a Wyoming client left; its work is stopped")
        finally:
            writer.close()

    async def _serve(self, talk: Talk) -> None:
        try:
            await talk.run()
        except OllamaTTSError as error:
            log.warning("Wyoming: %s", logs.told(error))
            await talk.fail(error)
        except (OSError, EOFError):
            raise
        except Exception as error:
            log.exception("unforeseen %s", type(error).__name__)
            await talk.fail(error)
