"""`Flights`: equal utterances in flight at once are spoken once, and all who asked hear it.

The one who speaks is nobody's request but the flight's own task; it ends early only when the last
listener has left. So a caller's leaving costs no other caller anything.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, TypeVar

T = TypeVar("T")


class _Flight(Generic[T]):
    """One utterance being spoken, and everyone who listens to it."""

    def __init__(
        self, source: AsyncGenerator[T, None], done: Callable[[list[T] | None], None]
    ) -> None:
        self._source = source
        self._done = done
        self._news = asyncio.Event()
        self._pieces: list[T] = []
        self.listeners = 0
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(self._ended)

    async def _run(self) -> None:
        async with aclosing(self._source) as pieces:
            async for piece in pieces:
                self._pieces.append(piece)
                self._news.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        whole = not task.cancelled() and task.exception() is None
        self._done(self._pieces if whole else None)
        self._news.set()

    async def listen(self) -> AsyncGenerator[T, None]:
        heard = 0
        while True:
            while heard < len(self._pieces):
                yield self._pieces[heard]
                heard += 1
            if self.task.done():
                self.task.result()
                return
            self._news.clear()
            await self._news.wait()


class Flights(Generic[T]):
    """The utterances in flight, by key. Belongs to one event loop."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._flights

    async def join(
        self,
        key: str,
        start: Callable[[], AsyncGenerator[T, None]],
        landed: Callable[[list[T]], None],
    ) -> AsyncGenerator[T, None]:
        """The pieces of this key from the first on; whoever comes first starts the speaking.

        `landed` is called once with all pieces, when it ended well. What the speaking raises,
        every listener gets.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._depart(key, start, landed)
        flight.listeners += 1
        try:
            async with aclosing(flight.listen()) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            flight.listeners -= 1
            if flight.listeners == 0 and not flight.task.done():
                if self._flights.get(key) is flight:
                    del self._flights[key]
                flight.task.cancel()
                await asyncio.wait([flight.task])

    def _depart(
        self,
        key: str,
        start: Callable[[], AsyncGenerator[T, None]],
        landed: Callable[[list[T]], None],
    ) -> _Flight[T]:
        def done(pieces: list[T] | None) -> None:
            if self._flights.get(key) is flight:
                del self._flights[key]
            if pieces is not None:
                landed(pieces)

        flight = _Flight(start(), done)
        self._flights[key] = flight
        return flight
