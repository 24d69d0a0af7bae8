"""`Line`: those who wait for models, told of their places and of their being turned away."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping

from ollama_tts.config import Settings
from ollama_tts.errors import Busy, OllamaTTSError
from ollama_tts.options import LoadOptions
from ollama_tts.scheduler.admission import LONG_S, Admission, Bounds, Terms
from ollama_tts.scheduler.clock import Clock, Timer
from ollama_tts.scheduler.drain import retry_after_s
from ollama_tts.scheduler.entry import Entry
from ollama_tts.scheduler.queue import Waiter
from ollama_tts.store.model import LocalModel

BUSY = "server busy, please try again.  maximum pending requests exceeded"  # Ollama's ErrMaxQueue


class Line:
    """Carries out what `Admission` decides. `advance` is called when time alone changes something.

    `entries` are the scheduler's, read only.
    """

    def __init__(
        self, settings: Settings, entries: Mapping[str, Entry], advance: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._entries = entries
        self._advance = advance
        self._admission: Admission[Waiter] = Admission(_bounds(settings))
        self._arrived = 0
        self._alarm: Timer | None = None
        self._alarm_s = math.inf

    @property
    def waiting(self) -> list[Waiter]:
        """All of them, in order of arrival."""
        return self._admission.waiting

    def in_order(self, now_s: float) -> list[Waiter]:
        """All of them, in order of service."""
        return self._admission.in_order(now_s)

    def join(
        self,
        model: LocalModel,
        options: LoadOptions,
        terms: Terms,
        *,
        key: str,
        keep_alive_s: float | None,
        now_s: float,
    ) -> Waiter:
        """One more, for the model in memory that `key` stands for."""
        self._arrived += 1
        waiter = Waiter(
            key=key,
            terms=terms,
            number=self._arrived,
            since_s=now_s,
            model=model,
            options=options,
            keep_alive_s=keep_alive_s,
            granted=asyncio.get_running_loop().create_future(),
        )
        self._admission.come(waiter, now_s)
        return waiter

    def keep_short(self, waiter: Waiter, now_s: float) -> None:
        """Turn away one, where the line that `waiter` has joined and must stand in is too long.

        Raises:
            Busy: It is `waiter` itself.
        """
        ahead = self._ahead(waiter, now_s)
        wait_s = self._wait_s(waiter, ahead + 1)
        least = self._admission.one_too_many(waiter.key, self._promised())
        if least is None and self._admission.in_vain(waiter, wait_s, now_s):
            least = waiter
        if least is waiter:
            self._admission.leave(waiter)
            raise Busy(BUSY, retry_after_s(self._wait_s(waiter, ahead)))
        if least is not None:
            self._refuse_busy(least, now_s)

    def leave(self, waiter: Waiter) -> None:
        """It has gone of itself; harmless where it no longer stands here."""
        if waiter in self.waiting:
            self._admission.leave(waiter)

    def refuse(self, waiter: Waiter, error: OllamaTTSError) -> None:
        """Turn it away."""
        self._admission.leave(waiter)
        if not waiter.granted.done():
            waiter.granted.set_exception(error)

    def grant(self, waiter: Waiter, entry: Entry, now_s: float) -> bool:
        """Give it its place; False where it has gone meanwhile."""
        if waiter.granted.done():
            self._admission.leave(waiter)
            return False
        self._admission.begin(waiter, now_s)
        entry.speaking.append(waiter)
        waiter.granted.set_result(entry)
        return True

    def release(self, waiter: Waiter, entry: Entry, now_s: float) -> None:
        """It has spoken."""
        entry.speaking.remove(waiter)
        entry.drain.ended(self._admission.end(waiter, now_s))

    def set_alarm(self, clock: Clock) -> None:
        """Look again when next somebody has waited too long, or spoken so long that it counts."""
        next_s = self._next_s(clock.time()) if self.waiting else math.inf
        if next_s == self._alarm_s:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_s = next_s
        self._alarm = None
        if next_s < math.inf:
            self._alarm = clock.call_at(next_s, lambda: self._ring(clock.time()))

    def _ring(self, now_s: float) -> None:
        self._alarm, self._alarm_s = None, math.inf
        for waiter in self._admission.overdue(now_s):
            if not self._loading(waiter):
                self._refuse_busy(waiter, now_s)
        self._advance()

    def _next_s(self, now_s: float) -> float:
        spoken_s = (
            claim.begun_s + LONG_S
            for entry in self._entries.values()
            for claim in entry.speaking
            if claim.begun_s is not None
        )
        waited_s = (waiter.since_s + self._admission.bounds.longest_s for waiter in self.waiting)
        return min((s for s in (*spoken_s, *waited_s) if s > now_s), default=math.inf)

    def _refuse_busy(self, waiter: Waiter, now_s: float) -> None:
        wait_s = self._wait_s(waiter, self._ahead(waiter, now_s))
        self.refuse(waiter, Busy(BUSY, retry_after_s(wait_s)))

    def _ahead(self, waiter: Waiter, now_s: float) -> int:
        """How many wait for the same model and are served before."""
        order = self._admission.in_order(now_s)
        return sum(other.key == waiter.key for other in order[: order.index(waiter)])

    def _wait_s(self, waiter: Waiter, requests: int) -> float:
        """How long it takes until so many more have got places on its model; 0: unknown."""
        entry = self._entries.get(waiter.key)
        return 0.0 if entry is None else entry.drain.wait_s(requests, entry.slots)

    def _promised(self) -> Counter[str]:
        """How many of those waiting have a place that is being loaded."""
        fitting = Counter(waiter.key for waiter in self.waiting if self._loading(waiter))
        most = max(1, self._settings.num_parallel)
        return Counter({key: min(count, most) for key, count in fitting.items()})

    def _loading(self, waiter: Waiter) -> bool:
        entry = self._entries.get(waiter.key)
        return entry is not None and entry.state == "loading" and entry.fits(waiter.options)


def _bounds(settings: Settings) -> Bounds:
    return Bounds(
        settings.max_queue,
        settings.max_queue_per_model or settings.max_queue,
        settings.max_wait_s or math.inf,
    )
