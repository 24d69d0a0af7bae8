"""`Scheduler`: hands out loaded models, and decides what is in memory."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

from ollama_tts.backends.base import Batching, Runner
from ollama_tts.config import Settings
from ollama_tts.engine.loop import EngineStats
from ollama_tts.errors import Busy, Cancelled, EngineDead, LoadFailed, OllamaTTSError, OutOfMemory
from ollama_tts.metrics import Metrics
from ollama_tts.options import LoadOptions
from ollama_tts.scheduler.admission import Terms
from ollama_tts.scheduler.chores import Chores
from ollama_tts.scheduler.clock import Clock
from ollama_tts.scheduler.entry import Entry
from ollama_tts.scheduler.key import Kept, Keys, serves
from ollama_tts.scheduler.lease import Lease, lease_of
from ollama_tts.scheduler.line import Line
from ollama_tts.scheduler.loading import Backends, Load, Outcome
from ollama_tts.scheduler.policy import Plan, decide
from ollama_tts.scheduler.queue import Waiter
from ollama_tts.scheduler.snapshot import LoadedModel, snapshot
from ollama_tts.scheduler.succession import Succession
from ollama_tts.scheduler.views import Views
from ollama_tts.store.model import LocalModel

log = logging.getLogger(__name__)

DEFAULT_MAX_LOADED = 3
ORDINARY = Terms()


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
        self._keys = Keys(backends)
        self._metrics = metrics
        self._given_clock = clock
        self._now = now
        self._entries: dict[str, Entry] = {}
        self._loads: dict[str, Load] = {}
        self._line = Line(settings, self._entries, self._advance)
        self._alone: set[str] = set()
        self._chores = Chores()
        self.succession = Succession(
            self._entries,
            self._keys,
            begin=self._begin,
            roomy=self._roomy,
            forget=self._forget_loads,
        )
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
        key = await self._keys.of(model, options)
        if self._shut:
            raise Busy("the server is shutting down")
        waiter = self._arrive(key, model, options, terms=terms, keep_alive_s=keep_alive_s)
        entry = await self._granted(waiter)
        try:
            assert entry.views is not None
            runner = await entry.views.of(model)
            lease = lease_of(waiter, entry, runner, self._clock.time())
            self._metrics.queued(lease.queued_ns / 1e9)
            yield lease
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
        await self._let_go([e for e in self._entries.values() if serves(e.key, model)])

    async def keep_only(self, stored: Iterable[LocalModel]) -> None:
        """Let go, as `unload` does, of all that none of the `stored` models speaks on."""
        kept = Kept(stored)
        for entry in self._entries.values():
            if entry.views is not None:
                entry.views.keep(partial(kept.view, entry.key))
        await self._let_go([e for e in self._entries.values() if not kept.model(e.key)])

    async def _let_go(self, entries: Iterable[Entry]) -> None:
        leaving = list(entries)
        for entry in leaving:
            entry.keep_alive_s = 0
        self._advance()
        for entry in leaving:
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
        await self._chores.finish()

    # the queue

    @property
    def _clock(self) -> Clock:
        return self._given_clock or asyncio.get_running_loop()

    @property
    def _max_loaded(self) -> int:
        return self._settings.max_loaded_models or DEFAULT_MAX_LOADED

    def _roomy(self) -> bool:
        loading = any(entry.state == "loading" for entry in self._entries.values())
        return not (self._shut or loading) and len(self._entries) < self._max_loaded

    def _arrive(
        self,
        key: str,
        model: LocalModel,
        options: LoadOptions,
        *,
        terms: Terms,
        keep_alive_s: float | None,
    ) -> Waiter:
        now_s = self._clock.time()
        waiter = self._line.join(
            model, options, terms, key=key, keep_alive_s=keep_alive_s, now_s=now_s
        )
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

    def _wanted(self, entry: Entry) -> bool:
        """Whether anyone waits for a model that is loading."""
        waiting = any(self._wants(waiter, entry) for waiter in self._line.waiting)
        return waiting or entry.warming is not None

    def _wants(self, waiter: Waiter, entry: Entry) -> bool:
        return waiter.key == entry.key and entry.fits(waiter.options)

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
        entry.follow(waiter.model)
        if waiter.keep_alive_s is not None:
            entry.keep_alive_s = _kept_s(waiter.keep_alive_s)

    def _load(self, waiter: Waiter) -> None:
        keep_alive_s = waiter.keep_alive_s
        if keep_alive_s is None:
            keep_alive_s = self._settings.keep_alive_s
        self._begin(waiter.key, waiter.model, waiter.options, keep_alive_s)

    def _begin(
        self, key: str, model: LocalModel, options: LoadOptions, keep_alive_s: float
    ) -> Entry:
        now_s = self._clock.time()
        entry = Entry(
            key=key,
            model=model,
            options=options,
            keep_alive_s=_kept_s(keep_alive_s),
            began_s=now_s,
        )
        self._entries[key] = entry
        self._loads[key] = Load(self._backends, model, options, partial(self._load_ended, key))
        timeout_s = self._settings.load_timeout_s
        if 0 < timeout_s < math.inf:
            entry.timer = self._clock.call_at(now_s + timeout_s, lambda: self._late(entry))
        return entry

    def _late(self, entry: Entry) -> None:
        """A load took too long: who waits for it hears so, and others may load."""
        self._abandon(entry.key)
        limit = f"OLLAMA_LOAD_TIMEOUT, {self._settings.load_timeout_s:g} s"
        self._fail(entry, LoadFailed(f"timed out loading {entry.model.name.short} ({limit})"))
        self._advance()

    def _forget_loads(self) -> None:
        """Give up on loads that nobody waits for any more."""
        for key, load in self._loads.items():
            if not self._wanted(self._entries[key]):
                load.give_up()

    def _abandon(self, key: str) -> None:
        """Do as if a load had never been; what it gives one day is closed at once."""
        self._loads.pop(key).give_up()
        entry = self._entries.pop(key)
        entry.stop_timer()
        entry.warmed()

    def _load_ended(self, key: str, load: Load, outcome: Outcome) -> None:
        if self._loads.get(key) is not load:
            if not isinstance(outcome, OllamaTTSError):
                self._chores.begin(outcome.close())
            return
        del self._loads[key]
        entry = self._entries[key]
        entry.stop_timer()
        if isinstance(outcome, OllamaTTSError):
            self._load_failed(entry, outcome, given_up=load.given_up)
        else:
            self._load_succeeded(entry, outcome)
        entry.warmed()
        self._advance()

    def _load_succeeded(self, entry: Entry, runner: Runner) -> None:
        entry.runner = runner
        entry.views = Views(runner, entry.model)
        entry.slots = self._settings.num_parallel or max(1, runner.traits.slots)
        entry.state = "ready"
        entry.ready_s = self._clock.time()
        self._alone.discard(entry.key)
        self._metrics.loaded(entry.ready_s - entry.began_s)
        log.info("loaded %s in %.2f s", entry.model.name.short, entry.ready_s - entry.began_s)
        if entry.warming is not None:
            self._start_timer(entry, entry.ready_s)
        elif not self._wanted(entry):
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
        self._chores.begin(self._closing(entry))

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


def _kept_s(keep_alive_s: float) -> float:
    return math.inf if keep_alive_s < 0 else keep_alive_s
