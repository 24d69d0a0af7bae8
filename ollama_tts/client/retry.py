"""When a failed call is tried again, and after how long."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ollama_tts.errors import Busy, OllamaTTSError, Unreachable


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off with jitter, for 503 (full), 429 (too often) and failed connections.

    `retries` is how often a call is tried again, 0 is never. The n-th wait is drawn between half
    and all of `first_s` × 2^n, at most `longest_s`; a server's Retry-After is a lower limit.
    `jitter` gives numbers from 0 to 1.
    """

    retries: int = 4
    first_s: float = 0.25
    longest_s: float = 30.0
    jitter: Callable[[], float] = random.random

    def delay_s(self, attempt: int, error: OllamaTTSError) -> float | None:
        """Seconds to wait before trying again, None where trying again is of no use.

        `attempt` counts the tries that failed before this one: 0 after the first.
        """
        if attempt >= self.retries or not isinstance(error, Busy | Unreachable):
            return None
        widest_s = min(self.longest_s, self.first_s * 2.0**attempt)
        delay_s = widest_s * (0.5 + 0.5 * self.jitter())
        if isinstance(error, Busy):
            delay_s += min(float(error.retry_after_s), self.longest_s)
        return delay_s
