"""Any schedule of requests, ends, cancels, failures and time keeps the scheduler's promises."""

import asyncio
from dataclasses import dataclass, field

from hypothesis import given, settings, strategies as st

from ollama_tts.errors import Busy, EngineDead, LoadFailed, OutOfMemory
from ollama_tts.options import LoadOptions
from tests.support.gated_backend import GatedBackend, GatedLoad
from tests.support.local_models import local_model
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import Caller, make_scheduler, settle

MAX_LOADED, MAX_QUEUE, SLOTS, TIMEOUT_S = 2, 4, 2, 300.0
MODELS = [local_model(name) for name in ("a", "b", "c")]
EXPECTED = (Busy, LoadFailed, OutOfMemory, EngineDead, asyncio.CancelledError)

number = st.integers(0, 30)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), number, st.sampled_from([None, 0.0, 60.0, -1.0])),
        st.tuples(st.just("load"), st.sampled_from([None, OutOfMemory("no"), LoadFailed("bad")])),
        st.tuples(st.just("leave"), number),
        st.tuples(st.just("cancel"), number),
        st.tuples(st.just("die"), number),
        st.tuples(st.just("wait"), st.sampled_from([1.0, 60.0, 400.0])),
        st.tuples(st.just("unload"), number),
    ),
    max_size=40,
)


@dataclass
class World:
    clock: ManualClock = field(default_factory=ManualClock)
    backend: GatedBackend = field(default_factory=lambda: GatedBackend(slots=SLOTS))
    callers: list[Caller] = field(default_factory=list)
    begun: GatedLoad | None = None
    late_s: float = 0.0

    def __post_init__(self) -> None:
        self.scheduler = make_scheduler(
            self.backend,
            self.clock,
            max_loaded_models=MAX_LOADED,
            max_queue=MAX_QUEUE,
            load_timeout_s=TIMEOUT_S,
        )

    async def take(self, step: tuple[object, ...]) -> None:
        match step:
            case ("ask", int(n), keep_alive_s):
                options = LoadOptions(num_ctx=512 if n % 7 == 0 else 2048)
                assert keep_alive_s is None or isinstance(keep_alive_s, float)
                self.callers.append(
                    Caller(
                        self.scheduler,
                        MODELS[n % 3],
                        options,
                        keep_alive_s=keep_alive_s,
                        priority=n % 2,
                    )
                )
            case ("load", error):
                await self.end_load(error if isinstance(error, Exception) else None)
            case ("leave", int(n)) if chosen := self.pick("speaks", n):
                await chosen.leave()
            case ("die", int(n)) if chosen := self.pick("speaks", n):
                await chosen.fail(EngineDead("gone"))
            case ("cancel", int(n)) if self.callers:
                await self.callers[n % len(self.callers)].cancel()
            case ("wait", float(seconds)):
                await self.wait(seconds)
            case ("unload", int(n)):
                await self.scheduler.unload(MODELS[n % 3])
            case _:
                pass  # nobody to do that to
        await settle()
        await self.begin_load()

    def pick(self, state: str, n: int) -> Caller | None:
        found = [caller for caller in self.callers if getattr(caller, state)]
        return found[n % len(found)] if found else None

    async def begin_load(self) -> None:
        """Meet the load that has just begun, if one has."""
        if self.begun is None and any(model.loading for model in self.scheduler.loaded()):
            self.begun = await self.backend.next_load()
            self.late_s = self.clock.time() + TIMEOUT_S

    async def end_load(self, error: Exception | None) -> None:
        """End the load that runs, if one does, and let the scheduler hear of it."""
        if self.begun is None:
            return
        load, self.begun = self.begun, None
        load.fail(error) if error else load.finish()
        await asyncio.to_thread(load.thread.join)
        await settle()
        await self.begin_load()

    async def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        if self.begun is not None and self.clock.time() >= self.late_s:
            await self.end_load(None)

    def check(self) -> None:
        models = self.scheduler.loaded()
        assert len(models) <= MAX_LOADED
        assert sum(model.loading for model in models) <= 1
        assert all(model.active <= SLOTS + 1 for model in models), "one more beside a long one"
        speaking = [caller for caller in self.callers if caller.speaks]
        waiting = [caller for caller in self.callers if caller.waits]
        assert self.scheduler.active == len(speaking)
        assert self.scheduler.queue_depth == len(waiting) <= MAX_QUEUE + SLOTS
        held = {id(caller.lease.runner) for caller in speaking}
        assert all(not r.closes for r in self.backend.runners if id(r) in held)

    async def drain(self) -> None:
        """Everybody ends; whoever waits must get on, one after another, until nobody is left."""
        for _ in range(4 * len(self.callers) + 4):
            await self.begin_load()
            await self.end_load(None)
            if (caller := self.pick("speaks", 0)) is not None:
                await caller.leave()
            await settle()
            self.check()
        assert all(caller.task.done() for caller in self.callers)
        await self.scheduler.shutdown()
        assert self.scheduler.loaded() == []
        assert all(runner.closes <= 1 for runner in self.backend.runners)
        for caller in self.callers:
            error = asyncio.CancelledError() if caller.task.cancelled() else caller.task.exception()
            assert error is None or isinstance(error, EXPECTED)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_promises(schedule: list[tuple[object, ...]]) -> None:
    async def run() -> None:
        world = World()
        for step in schedule:
            await world.take(step)
            world.check()
        await world.drain()

    asyncio.run(run())
