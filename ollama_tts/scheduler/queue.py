"""Who waits for a model, in which order, and when a refused one should come again."""

import asyncio
import math
from collections import deque
from dataclasses import dataclass

from ollama_tts.options import LoadOptions
from ollama_tts.scheduler.entry import Entry
from ollama_tts.store.model import LocalModel

LONGEST_RETRY_S = 120


@dataclass(eq=False, slots=True, kw_only=True)
class Waiter:
    """One request that wants a model. `granted` gets the entry, with a lease counted on it."""

    model: LocalModel
    options: LoadOptions
    keep_alive_s: float | None
    priority: int
    number: int
    since_s: float
    granted: asyncio.Future[Entry]

    @property
    def key(self) -> str:
        """Which entry it waits for."""
        return self.model.weights_key

    @property
    def order(self) -> tuple[int, int]:
        """Higher priority first, then who came first."""
        return -self.priority, self.number


class DrainRate:
    """How fast the queue moves, from the ends of the last requests."""

    def __init__(self, remembered: int = 32) -> None:
        self._ends_s: deque[float] = deque(maxlen=remembered)

    def ended(self, now_s: float) -> None:
        """A request has ended and made room for another."""
        self._ends_s.append(now_s)

    def retry_after_s(self, waiting: int, now_s: float) -> int:
        """Whole seconds, 1 to 120, until `waiting` requests will have gone; 1 while unknown."""
        if len(self._ends_s) < 2:
            return 1
        per_request_s = (now_s - self._ends_s[0]) / (len(self._ends_s) - 1)
        return min(LONGEST_RETRY_S, max(1, math.ceil(waiting * per_request_s)))
