"""`Scheduler`: hands out loaded models, and decides what is in memory."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from ollama_tts.backends.base import Batching, Runner
from ollama_tts.config import Settings
from ollama_tts.engine.loop import EngineStats
from ollama_tts.errors import Busy, Cancelled, EngineDead, LoadFailed, OllamaTTSError, OutOfMemory
from ollama_tts.metrics import Metrics
from ollama_tts.options import LoadOptions
from ollama_tts.scheduler.admission import Terms
from ollama_tts.scheduler.clock import Clock
from ollama_tts.scheduler.entry import Entry
from ollama_tts.scheduler.line import Line
from ollama_tts.scheduler.loading import Backends, Load, Outcome
from ollama_tts.scheduler.policy import Plan, decide
from ollama_tts.scheduler.queue import Waiter
from ollama_tts.scheduler.snapshot import LoadedModel, snapshot
from ollama_tts.store.model import LocalModel

log = logging.getLogger(__name__)

DEFAULT_MAX_LOADED = 3
ORDINARY = Terms()


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to speak on a loaded model. `load_ns` and `queued_ns`: what it was waited for."""

    runner: Runner
    model: LocalModel
    load_ns: int
    queued_ns: int


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Scheduler:
    """Owned by one event loop; every method is called there. `clock`: that loop, unless given."""

    def __init__(
        self,
        settings: Settings,
        backends: Backends,
        metrics: Metrics,
        *,
        clock: Clock | None = None,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._settings = settings
        self._backends = backends
        self._metrics = metrics
        self._given_clock = clock
        self._now = now
        self._entries: dict[str, Entry] = {}
        self._loads: dict[str, Load] = {}
        self._line = Line(settings, self._entries, self._advance)
        self._alone: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._past_back_offs = 0
        self._shut = False

    @property
    def queue_depth(self) -> int:
        """Requests that wait for a model or for a place on one."""
        return len(self._line.waiting)

    @property
    def active(self) -> int:
        """Requests that speak."""
        return sum(entry.leases for entry in self._entries.values())

    def engines(self) -> list[EngineStats]:
        """What the engines of the loaded models are doing, of those that batch."""
        runners: list[object] = [entry.runner for entry in self._entries.values()]
        return [runner.stats for runner in runners if isinstance(runner, Batching)]

    @property
    def back_offs(self) -> int:
        """How often memory ran out in a batch, since the start."""
        return self._past_back_offs + sum(stats.back_offs for stats in self.engines())

    @asynccontextmanager
    async def lease(
        self,
        model: LocalModel,
        options: LoadOptions,
        keep_alive_s: float | None = None,
        terms: Terms = ORDINARY,
    ) -> AsyncGenerator[Lease, None]:
        """A loaded model to speak on, for as long as the context lasts.

        `keep_alive_s` replaces how long the model stays afterwards (0: not at all; negative or
        inf: for ever); None keeps what it had, or the default. A cancelled caller leaves the
        queue and disturbs nobody else in it.

        Raises:
            Busy: The queue is full, the wait too long, or the server shuts down.
            LoadFailed: The model could not be loaded.
            OutOfMemory: It does not fit, not even alone.
            InvalidRequest: Its files are damaged, or nothing here loads them.
        """
        if self._shut:
            raise Busy("the server is shutting down")
        waiter = self._arrive(model, options, keep_alive_s, terms)
        entry = await self._granted(waiter)
        try:
            yield self._lease_of(waiter, entry)
        except EngineDead:
            entry.dead = True
            raise
        except OutOfMemory:
            for other in self._entries.values():
                other.keep_alive_s = 0
            raise
        finally:
            self._release(waiter, entry)

    async def unload(self, model: LocalModel) -> None:
        """Let a model go: at once if nobody speaks on it, else after those who do or wait to.

        Returns when it is gone, or when it is known that others must end first.
        """
        entry = self._entries.get(model.weights_key)
        if entry is None:
            return
        entry.keep_alive_s = 0
        self._advance()
        if entry.state == "closing":
            await entry.closed.wait()

    def loaded(self) -> list[LoadedModel]:
        """What is in memory or on its way in, the one that stays longest first."""
        now_s, now = self._clock.time(), self._now()
        models = [snapshot(entry, now_s, now) for entry in self._entries.values()]
        return sorted(models, key=lambda model: model.expires_at, reverse=True)

    async def shutdown(self) -> None:
        """Refuse who waits, end all loads and runners. Repeatable."""
        self._shut = True
        for waiter in list(self._line.waiting):
            self._line.refuse(waiter, Busy("the server is shutting down"))
        for key in list(self._loads):
            self._abandon(key)
        for entry in list(self._entries.values()):
            if entry.state == "ready":
                self._close(entry)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # the queue

    @property
    def _clock(self) -> Clock:
        return self._given_clock or asyncio.get_running_loop()

    @property
    def _max_loaded(self) -> int:
        return self._settings.max_loaded_models or DEFAULT_MAX_LOADED

    def _arrive(
        self, model: LocalModel, options: LoadOptions, keep_alive_s: float | None, terms: Terms
    ) -> Waiter:
        now_s = self._clock.time()
        waiter = self._line.join(model, options, terms, keep_alive_s=keep_alive_s, now_s=now_s)
        plan = self._plan()
        if plan.load is not waiter and all(granted is not waiter for granted, _ in plan.grants):
            self._line.keep_short(waiter, now_s)
            plan = self._plan()
        self._carry_out(plan)
        return waiter

    async def _granted(self, waiter: Waiter) -> Entry:
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            self._leave(waiter)
            raise

    def _leave(self, waiter: Waiter) -> None:
        """The caller of `waiter` is gone; if it was granted just now, the lease goes back."""
        if waiter.granted.done() and not waiter.granted.cancelled():
            if waiter.granted.exception() is None:
                self._release(waiter, waiter.granted.result())
            return
        self._line.leave(waiter)
        self._forget_loads()
        self._advance()

    def _wants(self, waiter: Waiter, entry: Entry) -> bool:
        return waiter.key == entry.key and entry.fits(waiter.options)

    def _lease_of(self, waiter: Waiter, entry: Entry) -> Lease:
        assert entry.runner is not None
        waited_s = self._clock.time() - waiter.since_s
        load_s = max(0.0, entry.ready_s - max(waiter.since_s, entry.began_s))
        load_ns = int(min(load_s, waited_s) * 1e9)
        queued_ns = max(0, int(waited_s * 1e9) - load_ns)
        self._metrics.queued(queued_ns / 1e9)
        return Lease(entry.runner, entry.model, load_ns, queued_ns)

    def _release(self, waiter: Waiter, entry: Entry) -> None:
        now_s = self._clock.time()
        self._line.release(waiter, entry, now_s)
        if entry.idle:
            self._start_timer(entry, now_s)
        self._advance()

    def _start_timer(self, entry: Entry, now_s: float) -> None:
        entry.stop_timer()
        if 0 < entry.keep_alive_s < math.inf:
            entry.expires_at_s = now_s + entry.keep_alive_s
            entry.timer = self._clock.call_at(entry.expires_at_s, lambda: self._expire(entry))

    def _expire(self, entry: Entry) -> None:
        assert entry.idle, "a lease stops the timer"
        self._close(entry)

    # what is in memory

    def _plan(self) -> Plan:
        now_s = self._clock.time()
        order = self._line.in_order(now_s)
        self._alone &= {waiter.key for waiter in order}
        return decide(self._entries, order, now_s, max_loaded=self._max_loaded, alone=self._alone)

    def _advance(self) -> None:
        if not self._shut:
            self._carry_out(self._plan())

    def _carry_out(self, plan: Plan) -> None:
        for waiter, entry in plan.grants:
            self._grant(waiter, entry)
        for entry in plan.closes:
            self._close(entry)
        if plan.load is not None:
            self._load(plan.load)
        self._line.set_alarm(self._clock)

    def _grant(self, waiter: Waiter, entry: Entry) -> None:
        if not self._line.grant(waiter, entry, self._clock.time()):
            return
        entry.stop_timer()
        if waiter.keep_alive_s is not None:
            entry.keep_alive_s = _kept_s(waiter.keep_alive_s)

    def _load(self, waiter: Waiter) -> None:
        now_s = self._clock.time()
        keep_alive_s = waiter.keep_alive_s
        if keep_alive_s is None:
            keep_alive_s = self._settings.keep_alive_s
        entry = Entry(
            model=waiter.model,
            options=waiter.options,
            keep_alive_s=_kept_s(keep_alive_s),
            began_s=now_s,
        )
        self._entries[entry.key] = entry
        self._loads[entry.key] = Load(self._backends, entry.model, entry.options, self._load_ended)
        timeout_s = self._settings.load_timeout_s
        if 0 < timeout_s < math.inf:
            entry.timer = self._clock.call_at(now_s + timeout_s, lambda: self._late(entry))

    def _late(self, entry: Entry) -> None:
        """A load took too long: who waits for it hears so, and others may load."""
        self._abandon(entry.key)
        limit = f"OLLAMA_LOAD_TIMEOUT, {self._settings.load_timeout_s:g} s"
        self._fail(entry, LoadFailed(f"timed out loading {entry.model.name.short} ({limit})"))
        self._advance()

    def _forget_loads(self) -> None:
        """Give up on loads that nobody waits for any more."""
        for key, load in self._loads.items():
            if not any(self._wants(waiter, self._entries[key]) for waiter in self._line.waiting):
                load.give_up()

    def _abandon(self, key: str) -> None:
        """Do as if a load had never been; what it gives one day is closed at once."""
        self._loads.pop(key).give_up()
        self._entries.pop(key).stop_timer()

    def _load_ended(self, load: Load, outcome: Outcome) -> None:
        key = load.model.weights_key
        if self._loads.get(key) is not load:
            if not isinstance(outcome, OllamaTTSError):
                self._spawn(outcome.close())
            return
        del self._loads[key]
        entry = self._entries[key]
        entry.stop_timer()
        if isinstance(outcome, OllamaTTSError):
            self._load_failed(entry, outcome, given_up=load.given_up)
        else:
            self._load_succeeded(entry, outcome)
        self._advance()

    def _load_succeeded(self, entry: Entry, runner: Runner) -> None:
        entry.runner = runner
        entry.slots = self._settings.num_parallel or max(1, runner.traits.slots)
        entry.state = "ready"
        entry.ready_s = self._clock.time()
        self._alone.discard(entry.key)
        self._metrics.loaded(entry.ready_s - entry.began_s)
        log.info("loaded %s in %.2f s", entry.model.name.short, entry.ready_s - entry.began_s)
        if not any(self._wants(waiter, entry) for waiter in self._line.waiting):
            entry.keep_alive_s = 0

    def _load_failed(self, entry: Entry, error: OllamaTTSError, *, given_up: bool) -> None:
        del self._entries[entry.key]
        if given_up and isinstance(error, Cancelled):
            return  # whoever came for it meanwhile has it loaded anew
        if isinstance(error, OutOfMemory) and self._entries and entry.key not in self._alone:
            log.warning("no memory for %s beside other models: unloading them", entry.model.name)
            self._alone.add(entry.key)
            return
        self._alone.discard(entry.key)
        self._fail(entry, error)

    def _fail(self, entry: Entry, error: OllamaTTSError) -> None:
        for waiter in [waiter for waiter in self._line.waiting if self._wants(waiter, entry)]:
            self._line.refuse(waiter, error)

    def _close(self, entry: Entry) -> None:
        entry.state = "closing"
        entry.stop_timer()
        self._spawn(self._closing(entry))

    async def _closing(self, entry: Entry) -> None:
        assert entry.runner is not None
        try:
            await entry.runner.close()
        finally:
            if isinstance(entry.runner, Batching):
                self._past_back_offs += entry.runner.stats.back_offs
            del self._entries[entry.key]
            entry.closed.set()
            self._advance()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._spawned)

    def _spawned(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("closing a model failed: %r", error)


def _kept_s(keep_alive_s: float) -> float:
    return math.inf if keep_alive_s < 0 else keep_alive_s
