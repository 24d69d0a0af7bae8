"""A clock that stands still until a test moves it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 1, tzinfo=UTC)


class ManualTimer:
    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """Both clocks of the scheduler: `time`/`call_at` monotonic, `now` for people."""

    def __init__(self) -> None:
        self._now_s = 1000.0
        self._timers: list[ManualTimer] = []

    def time(self) -> float:
        return self._now_s

    def now(self) -> datetime:
        return START + timedelta(seconds=self._now_s - 1000.0)

    def call_at(self, when: float, callback: Callable[[], None]) -> ManualTimer:
        timer = ManualTimer(when, callback)
        self._timers.append(timer)
        return timer

    @property
    def pending(self) -> int:
        """Timers that are still to come."""
        return sum(not timer.cancelled for timer in self._timers)

    def advance(self, seconds: float) -> None:
        """Move on, calling what falls due on the way, in order."""
        end_s = self._now_s + seconds
        while due := [t for t in self._timers if not t.cancelled and t.when <= end_s]:
            timer = min(due, key=lambda t: t.when)
            self._timers.remove(timer)
            self._now_s = max(self._now_s, timer.when)
            timer.callback()
        self._now_s = end_s
