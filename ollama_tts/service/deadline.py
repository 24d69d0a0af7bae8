"""`Deadline`: the caller's own limit (option `deadline_ms`) on everything a request waits for."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from ollama_tts.errors import DeadlineExceeded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock in seconds, or None for no limit."""

    at_s: float | None = None

    @classmethod
    def after(cls, started_s: float, deadline_ms: int | None) -> "Deadline":
        """The deadline of a request that came at `started_s`."""
        return cls(None if deadline_ms is None else started_s + deadline_ms / 1000)

    async def wait(self, work: Awaitable[T]) -> T:
        """What `work` gives, if it comes in time.

        Raises:
            DeadlineExceeded: It did not; the work was cancelled.
        """
        if self.at_s is None:
            return await work
        if time.monotonic() >= self.at_s:
            if asyncio.iscoroutine(work):
                work.close()
            raise self._passed()
        try:
            async with asyncio.timeout(self.at_s - time.monotonic()):
                return await work
        except TimeoutError:
            raise self._passed() from None

    def _passed(self) -> DeadlineExceeded:
        return DeadlineExceeded("the deadline of this request (option deadline_ms) passed")
