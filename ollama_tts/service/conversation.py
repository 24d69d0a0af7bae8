"""`Conversation`: text in as it is written, sound out as it is made; flush, cancel, end.

A conversation is a row of turns. A turn begins with its first text and ends at `end`, or at
`cancel`, after which nothing of it follows. Doors (WebSocket, gRPC, Wyoming) put what they hear
in and send on what comes out. Both sides are bounded, and neither holds the other up: text that the
voice has not come to is kept, up to a turn's limit, so that a `cancel` behind it is heard at once;
the voice waits while the reader is behind.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from ollama_tts.errors import Busy, GenerationFailed, OllamaTTSError, TooLarge
from ollama_tts.service.events import Flush, SpeechEvent, SpeechRequest

log = logging.getLogger(__name__)

Speak = Callable[[SpeechRequest], AsyncGenerator[SpeechEvent, None]]

TURN_CHARS = 1_000_000
PART_CHARS = 4096
WAITING_TURNS = 64
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
        self.events: asyncio.Queue[SpeechEvent | Exception | None] = asyncio.Queue(WAITING_EVENTS)
        self.cancelled = asyncio.Event()
        self._parts: deque[str | Flush] = deque()
        self._chars = 0
        self._complete = False
        self._news = asyncio.Event()

    def say(self, text: str) -> None:
        """Take more text; small parts that nobody has read yet become one."""
        self._chars += len(text)
        if self._chars > TURN_CHARS:
            raise TooLarge(f"a turn holds at most {TURN_CHARS} characters; begin another (end)")
        last = self._parts[-1] if self._parts else None
        if isinstance(last, str) and len(last) < PART_CHARS:
            self._parts[-1] = last + text
        else:
            self._parts.append(text)
        self._news.set()

    def flush(self) -> None:
        self._parts.append(Flush.NOW)
        self._news.set()

    def end(self) -> None:
        self._complete = True
        self._news.set()

    async def text(self) -> AsyncIterator[str | Flush]:
        while True:
            while self._parts:
                yield self._parts.popleft()
            if self._complete:
                return
            self._news.clear()
            await self._news.wait()

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
        """More text; the first after a turn's end begins the next turn. Never waits.

        Gives the number of the turn, before anything comes of it; None for no text.

        Raises:
            TooLarge: The turn's text is too long.
            Busy: Too many turns wait.
        """
        if not text:
            return None
        if self._open is None:
            self._open = self._begin()
        self._open.say(text)
        return self._open.number

    def _begin(self) -> _Turn:
        waiting = sum(not turn.cancelled.is_set() for turn in self._live)
        if waiting >= WAITING_TURNS or len(self._live) >= 10 * WAITING_TURNS:
            raise Busy(f"{WAITING_TURNS} turns wait already; wait for one to be done")
        turn = _Turn(self._count, self.ask)
        self._count += 1
        self._live.append(turn)
        self._turns.put_nowait(turn)
        return turn

    async def flush(self) -> None:
        """Speak what is there, though its sentence has no end yet."""
        if self._open is not None:
            self._open.flush()

    async def end(self) -> None:
        """The turn's text is complete."""
        if self._open is not None:
            self._open.end()
            self._open = None

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

        Errors are events, too; of what nobody foresaw only that it was.
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
                    self._abandon(turn)
                    log.error("unforeseen in a turn", exc_info=event)
                    yield TurnFailed(turn.number, GenerationFailed("internal error"))
                    return
                yield TurnEvent(turn.number, event)
        finally:
            await _stop(speaking)
            await _stop(cancelled)

    def _abandon(self, turn: _Turn) -> None:
        """A failed turn takes no more text; what follows begins the next."""
        turn.cancelled.set()
        if self._open is turn:
            self._open = None


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
