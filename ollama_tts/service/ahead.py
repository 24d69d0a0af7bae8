"""Look-ahead: the next utterances of a request are being spoken while the first is heard.

Order is kept, memory is bounded by `DEPTH` utterances, and leaving (`aclose`) stops everything.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from ollama_tts.engine.stream import joined
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.text.account import PreparedUtterance

DEPTH = 3
GATHERED_SAMPLES = 48_000
"""From so many samples on (a second at 48 kHz) nothing more is added to a piece."""


class Speaker(Protocol):
    """Who speaks: a runner, or one with a cache before it."""

    def check(self, utterance: Utterance) -> None:
        """Refuse what could not be spoken."""

    def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The pieces of one utterance."""


@dataclass(slots=True, eq=False)
class Line:
    """One utterance in flight: what it says, and its pieces as they come."""

    prepared: PreparedUtterance
    utterance: Utterance
    mailbox: asyncio.Queue[Piece | None] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] | None = None
    heard: bool = False

    async def next(self) -> Piece | None:
        """The next piece, or None after the last; a late reader gets what has gathered as one.

        The first piece never waits for others to join it.

        Raises:
            OllamaTTSError: What the runner raised for this utterance.
        """
        piece = await self.mailbox.get()
        if piece is None:
            if self.task is not None:
                self.task.result()
            return None
        return self._with_more(piece) if self.heard else self._first(piece)

    def _first(self, piece: Piece) -> Piece:
        self.heard = True
        return piece

    def _with_more(self, piece: Piece) -> Piece:
        gathered, samples = [piece], len(piece.samples)
        while samples < GATHERED_SAMPLES and not self.mailbox.empty():
            more = self.mailbox.get_nowait()
            if more is None:
                self.mailbox.put_nowait(None)  # nothing comes after it: the next call sees it
                break
            gathered.append(more)
            samples += len(more.samples)
        return joined(gathered)


class LookAhead:
    """Speaks utterances up to `DEPTH` ahead of the listener, and hands them out in order."""

    def __init__(
        self, speaker: Speaker, source: AsyncIterator[tuple[PreparedUtterance, Utterance]]
    ) -> None:
        self._speaker = speaker
        self._source = source
        self._room = asyncio.Semaphore(DEPTH)
        self._lines: asyncio.Queue[Line | None] = asyncio.Queue()
        self._live: set[asyncio.Task[None]] = set()
        self._feeder = asyncio.create_task(self._feed())
        self._feeder.add_done_callback(lambda _: self._lines.put_nowait(None))

    async def next(self) -> Line | None:
        """The next utterance in order, or None after the last.

        Raises:
            InvalidRequest: The text or a setting cannot be spoken by this voice.
        """
        line = await self._lines.get()
        if line is None:
            self._feeder.result()
        return line

    def heard(self) -> None:
        """The line handed out last is through: one more may be spoken ahead."""
        self._room.release()

    async def aclose(self) -> None:
        """Stop all that is in flight and wait until it has stopped."""
        tasks = {self._feeder, *self._live}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _feed(self) -> None:
        async for prepared, utterance in self._source:
            await self._room.acquire()
            self._speaker.check(utterance)
            line = Line(prepared, utterance)
            line.task = asyncio.create_task(self._pump(line))
            self._live.add(line.task)
            line.task.add_done_callback(lambda task, line=line: self._ended(task, line))  # type: ignore[misc]
            self._lines.put_nowait(line)

    async def _pump(self, line: Line) -> None:
        async with aclosing(self._speaker.speak(line.utterance)) as pieces:
            async for piece in pieces:
                line.mailbox.put_nowait(piece)

    def _ended(self, task: asyncio.Task[None], line: Line) -> None:
        self._live.discard(task)
        line.mailbox.put_nowait(None)
        if not task.cancelled():
            task.exception()  # seen here; raised where the line is read
