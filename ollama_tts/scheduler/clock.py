"""Time as the scheduler sees it; a running asyncio loop is one, a test's manual clock another."""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Call it off; harmless when it has been."""


class Clock(Protocol):
    """A monotonic clock in seconds that calls back."""

    def time(self) -> float:
        """Now, in seconds from an arbitrary point."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call once at `when` (of `time`), on the event loop."""
