"""`Patience`: how often and how long to try again. Clock, sleep and chance are passed in."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from ollama_tts.registry.failures import Passing

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Patience:
    """`attempts` failures in a row without one new byte end the work.

    Pauses double from `base_s` up to `longest_s`, each shortened by chance so that many clients
    do not come back at once; what a server asks for in Retry-After is kept, up to `longest_s`.
    `cuts` bounds the tries that did bring something. An answer slower than `slowest_bytes` in
    `window_s` seconds counts as stalled.
    """

    attempts: int = 6
    cuts: int = 1000
    base_s: float = 1.0
    longest_s: float = 60.0
    window_s: float = 30.0
    slowest_bytes: int = 1024
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def pause_s(self, failures: int, retry_after_s: float = 0.0) -> float:
        """How long to wait after the n-th failure in a row (0: the last try brought something)."""
        longest = self.base_s * 2.0 ** min(failures, 16)
        return min(self.longest_s, max(longest * (0.5 + self.chance() / 2), retry_after_s))

    async def tries(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """The result of `work`, tried again after what may pass by itself.

        Raises:
            Passing: `attempts` tries failed; the last one's error.
        """
        for failures in range(1, self.attempts):
            try:
                return await work()
            except Passing as error:
                await self.sleep(self.pause_s(failures - 1, error.retry_after_s))
        return await work()
