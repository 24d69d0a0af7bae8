"""`Draining`: how a door beside HTTP ends: nothing new, what runs may end, then all stops."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from ollama_tts.server.connection import DRAIN_S


class Draining:
    """Counts what runs behind one door, and tells when the door may close.

    `begun` is set as soon as nothing new is to be begun.
    """

    def __init__(self, patience_s: float = DRAIN_S) -> None:
        self.begun = asyncio.Event()
        self._over = asyncio.Event()
        self._patience_s = patience_s
        self._running = 0

    @contextmanager
    def work(self) -> Iterator[None]:
        """Something that the door waits for when it closes."""
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._look()

    def begin(self, *, now: bool = False) -> None:
        """Begin nothing new; with `now`, wait for nothing either. May be said again."""
        if not self.begun.is_set():
            self.begun.set()
            asyncio.get_running_loop().call_later(self._patience_s, self._over.set)
        if now:
            self._over.set()
        self._look()

    async def over(self) -> None:
        """Returns when nothing runs any more, or when patience is at its end."""
        await self._over.wait()

    def _look(self) -> None:
        if self.begun.is_set() and not self._running:
            self._over.set()
