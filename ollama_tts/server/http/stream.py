"""Answers that take time: they wait for the first item, watch for the caller's leaving, and yield.

Three rules stand here once for every door. An error before the first item is the response, with
its status. After each item the event loop gets its turn: `send` to a caller who has left returns
at once, and a generator that never suspends (everything cached) would hold the whole server. And
whoever leaves frees the work, for whole answers too, which have nothing to write meanwhile.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ollama_tts import logs
from ollama_tts.errors import Busy, InvalidRequest, NotFound, OllamaTTSError, TooLarge
from ollama_tts.server.http.errors import log_unknown

log = logging.getLogger(__name__)
T = TypeVar("T")

STALL_S = 300.0
"""How long a caller may leave what was sent unread, as a paused player does, before its work is
given up: a place that could be held for ever would be no bound."""

_STREAM_HEADERS: Mapping[str, str] = {"x-accel-buffering": "no", "cache-control": "no-cache"}


@dataclass(frozen=True, slots=True)
class Head:
    """What a streamed answer begins with; statuses are 200, errors before it have their own."""

    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def raw(self) -> list[tuple[bytes, bytes]]:
        """The header fields as ASGI wants them."""
        fields = {"content-type": self.media_type, **_STREAM_HEADERS, **self.headers}
        return [(name.lower().encode(), text.encode("latin-1")) for name, text in fields.items()]


Chunks = AsyncGenerator[Head | bytes, None]
"""A streamed answer: one `Head` when it is certain that there will be one, then its bytes."""


class _Unread(Exception):
    """What was sent was not read for too long."""


class Streaming:
    """A response of chunks.

    `last_words` turns an error after the head into the last bytes. Where it is None (raw sound,
    which has no place for words) the connection ends without its end mark, so that nobody takes
    half a file for a whole one.
    """

    def __init__(
        self,
        chunks: Chunks,
        last_words: Callable[[Exception], bytes] | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        self._chunks = chunks
        self._last_words = last_words
        self._stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send head and chunks; stop the work if the caller leaves."""
        del scope
        await while_connected(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        async with aclosing(self._chunks) as chunks:
            head = await anext(chunks)
            assert isinstance(head, Head)
            await send({"type": "http.response.start", "status": 200, "headers": head.raw()})
            try:
                await self._send_chunks(chunks, send)
            except _Unread:
                log.warning("the caller reads nothing; its work is stopped")
                return
            except Exception as error:  # noqa: BLE001  # the HTTP boundary: it becomes last words
                _log_late(error)
                if self._last_words is None:
                    return
                await _send_body(send, self._last_words(error))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_chunks(self, chunks: Chunks, send: Send) -> None:
        async for chunk in chunks:
            assert isinstance(chunk, bytes)
            try:
                async with asyncio.timeout(self._stall_s):
                    await _send_body(send, chunk)
            except TimeoutError as error:
                raise _Unread from error
            await asyncio.sleep(0)


async def _send_body(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


def _log_late(error: Exception) -> None:
    if isinstance(error, InvalidRequest | NotFound | TooLarge | Busy):
        log.info("refused after the answer had begun: %s", logs.told(error))
    elif isinstance(error, OllamaTTSError):
        log.error("failed after the answer had begun: %s", logs.told(error))
    else:
        log_unknown(error)


class Waiting:
    """A response that is made while the caller waits; it is given up if the caller leaves."""

    def __init__(self, make: Callable[[], Coroutine[None, None, Response]]) -> None:
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make the response, then send it."""
        response = await while_connected(receive, self._make())
        if response is not None:
            await response(scope, receive, send)


async def while_connected(receive: Receive, work: Coroutine[None, None, T]) -> T | None:
    """What `work` gives; None, and `work` is cancelled and over, where the caller left first.

    The request's body must have been read.
    """
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            log.info("the caller left; its work is stopped")
            await _stop(task)
            return None
        return task.result()
    finally:
        await _stop(task)
        await _stop(gone)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stop(task: asyncio.Task[T]) -> None:
    """Cancel a task and wait until it is over; what it raises on the way out is logged."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("while stopping: %s", logs.told(error))


async def all_of(items: AsyncGenerator[T, None]) -> list[T]:
    """Every item, the event loop getting its turn after each."""
    collected: list[T] = []
    async with aclosing(items) as each:
        async for item in each:
            collected.append(item)
            await asyncio.sleep(0)
    return collected
