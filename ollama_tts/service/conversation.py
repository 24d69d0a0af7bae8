"""`Conversation`: text in as it is written, sound out as it is made; flush, cancel, end.

A conversation is a row of turns. A turn begins with its first text and ends at `end`, or at
`cancel`, after which nothing of it follows. Doors (WebSocket, gRPC, Wyoming) put what they hear
in and send on what comes out. Buffers are bounded both ways: `say` waits while the voice is
behind, and the voice waits while the reader is.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from ollama_tts.errors import OllamaTTSError
from ollama_tts.service.events import Flush, SpeechEvent, SpeechRequest

Speak = Callable[[SpeechRequest], AsyncGenerator[SpeechEvent, None]]

WAITING_PARTS = 1024
WAITING_EVENTS = 64


@dataclass(frozen=True, slots=True)
class TurnCancelled:
    """The turn was cancelled; nothing of it follows."""

    turn: int


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn failed; the next one starts clean."""

    turn: int
    error: OllamaTTSError


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """An event of a turn's speech."""

    turn: int
    event: SpeechEvent


ConversationEvent = TurnEvent | TurnCancelled | TurnFailed


class _Turn:
    """One text being spoken."""

    def __init__(self, number: int, ask: SpeechRequest) -> None:
        self.number = number
        self.ask = ask
        self.parts: asyncio.Queue[str | Flush | None] = asyncio.Queue(WAITING_PARTS)
        self.events: asyncio.Queue[SpeechEvent | Exception | None] = asyncio.Queue(WAITING_EVENTS)
        self.cancelled = asyncio.Event()

    async def text(self) -> AsyncIterator[str | Flush]:
        while (part := await self.parts.get()) is not None:
            yield part

    async def speak(self, speak: Speak) -> None:
        try:
            async with aclosing(speak(replace(self.ask, text=self.text()))) as events:
                async for event in events:
                    await self.events.put(event)
        except Exception as error:  # noqa: BLE001  # handed to the reader, whom silence would hold
            await self.events.put(error)
        await self.events.put(None)


class Conversation:
    """One caller's turns.

    `ask` holds model, options and the like of the turns that begin from now on; its text is not
    used.
    """

    def __init__(self, speak: Speak, ask: SpeechRequest) -> None:
        self._speak = speak
        self.ask = ask
        self._turns: asyncio.Queue[_Turn | None] = asyncio.Queue()
        self._open: _Turn | None = None
        self._live: list[_Turn] = []
        self._count = 0

    async def say(self, text: str) -> int | None:
        """More text; the first after a turn's end begins the next turn.

        Gives the number of the turn, before anything comes of it; None for no text.
        """
        if not text:
            return None
        if self._open is None:
            self._open = _Turn(self._count, self.ask)
            self._count += 1
            self._live.append(self._open)
            self._turns.put_nowait(self._open)
        turn = self._open
        await self._put(turn, text)
        return turn.number

    async def flush(self) -> None:
        """Speak what is there, though its sentence has no end yet."""
        if self._open is not None:
            await self._put(self._open, Flush.NOW)

    async def end(self) -> None:
        """The turn's text is complete."""
        if self._open is not None:
            turn, self._open = self._open, None
            await self._put(turn, None)

    def cancel(self) -> None:
        """Stop all turns whose sound has not gone out, at once."""
        for turn in self._live:
            turn.cancelled.set()
        self._open = None

    def close(self) -> None:
        """No turn follows; `events` ends after those there are."""
        self._turns.put_nowait(None)

    async def events(self) -> AsyncGenerator[ConversationEvent, None]:
        """What comes of the turns, in order. Closing it stops all work.

        Errors of our own are events; what nobody foresaw is raised.
        """
        while (turn := await self._turns.get()) is not None:
            async with aclosing(self._turn(turn)) as events:
                async for event in events:
                    yield event
            self._live.remove(turn)

    async def _turn(self, turn: _Turn) -> AsyncGenerator[ConversationEvent, None]:
        if turn.cancelled.is_set():
            yield TurnCancelled(turn.number)
            return
        speaking = asyncio.create_task(turn.speak(self._speak))
        cancelled = asyncio.create_task(turn.cancelled.wait())
        try:
            while True:
                event = await _first(turn.events, cancelled)
                if turn.cancelled.is_set():
                    await _stop(speaking)
                    yield TurnCancelled(turn.number)
                    return
                if event is None:
                    return
                if isinstance(event, OllamaTTSError):
                    self._abandon(turn)
                    yield TurnFailed(turn.number, event)
                    return
                if isinstance(event, Exception):
                    raise event
                yield TurnEvent(turn.number, event)
        finally:
            await _stop(speaking)
            await _stop(cancelled)

    def _abandon(self, turn: _Turn) -> None:
        """A failed turn takes no more text; what follows begins the next."""
        turn.cancelled.set()
        if self._open is turn:
            self._open = None

    async def _put(self, turn: _Turn, part: str | Flush | None) -> None:
        """Hand text to a turn; a cancelled one takes none and holds nobody up."""
        if turn.cancelled.is_set():
            return
        if not turn.parts.full():
            turn.parts.put_nowait(part)
            return
        putting = asyncio.create_task(turn.parts.put(part))
        cancelled = asyncio.create_task(turn.cancelled.wait())
        try:
            await asyncio.wait({putting, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _stop(putting)
            await _stop(cancelled)


async def _first(
    events: asyncio.Queue[SpeechEvent | Exception | None], cancelled: asyncio.Task[bool]
) -> SpeechEvent | Exception | None:
    """The next event, or anything once `cancelled` is done."""
    if not events.empty():
        return events.get_nowait()
    getting = asyncio.create_task(events.get())
    try:
        await asyncio.wait({getting, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        return getting.result() if getting.done() else None
    finally:
        await _stop(getting)


async def _stop(task: "asyncio.Task[object]") -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
