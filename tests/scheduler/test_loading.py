"""Loads: shared, one at a time, given up when nobody waits, timed."""

import asyncio
from datetime import UTC, datetime

import pytest

from ollama_tts.backends.catalog import Catalog
from ollama_tts.config import Settings
from ollama_tts.errors import Busy, InvalidWeights, LoadFailed, OutOfMemory, Unsupported
from ollama_tts.metrics import Metrics
from ollama_tts.scheduler import Scheduler
from tests.support.gated_backend import GatedBackend, InterruptibleBackend
from tests.support.local_models import local_model
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import Caller, make_scheduler, settle

A = local_model("a")
B = local_model("b")


@pytest.fixture
def backend() -> GatedBackend:
    """Two places a model; loads wait for the test."""
    return GatedBackend(slots=2)


async def test_all_who_wait_for_a_model_share_one_load(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    callers = [Caller(scheduler, A) for _ in range(3)]
    load = await backend.next_load()
    clock.advance(4)
    (shown,) = scheduler.loaded()
    assert (shown.loading, shown.size_bytes, shown.context_length) == (True, 7, 11)
    runner = load.finish()
    first, second = await callers[0].granted(), await callers[1].granted()
    assert first.runner is second.runner is runner
    assert (first.load_ns, first.queued_ns) == (4_000_000_000, 0)
    assert callers[2].waits, "two places"
    clock.advance(1)
    await callers[0].leave()
    third = await callers[2].granted()
    assert (third.load_ns, third.queued_ns) == (4_000_000_000, 1_000_000_000)
    assert len(backend.loads) == 1


async def test_a_loaded_model_costs_no_wait(scheduler: Scheduler, backend: GatedBackend) -> None:
    first = Caller(scheduler, A)
    (await backend.next_load()).finish()
    await first.granted()
    lease = await Caller(scheduler, A).granted()
    assert (lease.load_ns, lease.queued_ns) == (0, 0)


async def test_one_who_leaves_during_the_load_disturbs_nobody(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    """pc-057: A, B and C ask for one model, A leaves during the load, B has keep_alive 0."""
    a, b, c = Caller(scheduler, A), Caller(scheduler, A, keep_alive_s=0), Caller(scheduler, A)
    load = await backend.next_load()
    await a.cancel()
    runner = load.finish()
    assert (await b.granted()).runner is runner
    await b.leave()
    assert (await c.granted()).runner is runner
    assert runner.closes == 0
    await c.leave()
    await runner.closed.wait()
    assert len(backend.loads) == 1


async def test_a_load_nobody_waits_for_is_closed_when_done(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    alone = Caller(scheduler, A)
    load = await backend.next_load()
    await alone.cancel()
    await load.finish().closed.wait()
    await settle()
    assert scheduler.loaded() == []
    assert scheduler.queue_depth == 0


async def test_a_newcomer_adopts_a_load_that_was_given_up(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    first = Caller(scheduler, A)
    load = await backend.next_load()
    await first.cancel()
    second = Caller(scheduler, A)
    await settle()
    runner = load.finish()
    assert (await second.granted()).runner is runner
    assert len(backend.loads) == 1


async def test_one_load_at_a_time_and_loaded_models_go_on(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    a = Caller(scheduler, A)
    (await backend.next_load()).finish()
    await a.granted()
    b = Caller(scheduler, B)
    c = Caller(scheduler, local_model("c"))
    load_b = await backend.next_load()
    also_a = Caller(scheduler, A)
    await also_a.granted()
    assert len(backend.loads) == 2, "c waits for b's load"
    load_b.finish()
    await b.granted()
    assert c.waits


async def test_a_failed_load_fails_all_who_wait_and_the_next_tries_again(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    callers = [Caller(scheduler, A), Caller(scheduler, A)]
    load = await backend.next_load()
    load.fail(InvalidWeights("tensor a is missing"))
    for caller in callers:
        with pytest.raises(InvalidWeights, match="tensor a is missing"):
            await caller.granted()
    again = Caller(scheduler, A)
    (await backend.next_load()).finish()
    await again.granted()


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(RuntimeError("bad header"), LoadFailed), (MemoryError(), OutOfMemory)],
)
async def test_whatever_a_load_raises_becomes_one_of_ours(
    scheduler: Scheduler, backend: GatedBackend, raised: Exception, expected: type[Exception]
) -> None:
    caller = Caller(scheduler, A)
    (await backend.next_load()).fail(raised)
    with pytest.raises(expected, match="load"):
        await caller.granted()
    assert scheduler.loaded() == []


async def test_a_format_that_nothing_loads_is_told(clock: ManualClock) -> None:
    scheduler = make_scheduler(Catalog(), clock)
    with pytest.raises(Unsupported, match=r"'gguf-llm'.*hibari"):
        await Caller(scheduler, local_model("x", "gguf-llm")).granted()


async def test_a_load_that_takes_too_long_fails_and_frees_the_way(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    slow = Caller(scheduler, A)
    load = await backend.next_load()
    clock.advance(300)
    with pytest.raises(LoadFailed, match=r"timed out loading a:latest .*300 s"):
        await slow.granted()
    other = Caller(scheduler, B)
    (await backend.next_load()).finish()
    await other.granted()
    await load.finish().closed.wait()
    assert [model.name.short for model in scheduler.loaded()] == ["b:latest"]


async def test_a_late_load_that_fails_in_the_end_is_nothing(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    slow = Caller(scheduler, A)
    load = await backend.next_load()
    clock.advance(300)
    with pytest.raises(LoadFailed, match="timed out"):
        await slow.granted()
    again = Caller(scheduler, A)
    second = await backend.next_load()
    load.fail(InvalidWeights("too late to matter"))
    await asyncio.to_thread(load.thread.join)
    await settle()
    second.finish()
    await again.granted()


async def test_one_who_leaves_at_the_very_moment_of_the_timeout(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    slow = Caller(scheduler, A)
    load = await backend.next_load()
    slow.task.cancel()
    clock.advance(300)
    await asyncio.wait({slow.task})
    assert slow.task.cancelled()
    assert (scheduler.queue_depth, scheduler.loaded()) == (0, [])
    await load.finish().closed.wait()


async def test_a_load_in_time_is_not_late_afterwards(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    caller = Caller(scheduler, A)
    load = await backend.next_load()
    clock.advance(299)
    load.finish()
    await caller.granted()
    clock.advance(10_000)
    await settle()
    assert caller.speaks


async def test_no_timeout_where_none_is_set(backend: GatedBackend, clock: ManualClock) -> None:
    scheduler = make_scheduler(backend, clock, load_timeout_s=float("inf"))
    caller = Caller(scheduler, A)
    load = await backend.next_load()
    assert clock.pending == 0
    load.finish()
    await caller.granted()
    await scheduler.shutdown()


async def test_unload_during_the_load_serves_those_who_wait_first(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    caller = Caller(scheduler, A)
    load = await backend.next_load()
    await scheduler.unload(A)
    runner = load.finish()
    await caller.granted()
    await caller.leave()
    await runner.closed.wait()


class TestInterruptible:
    @pytest.fixture
    def backend(self) -> GatedBackend:
        return InterruptibleBackend(slots=2)

    async def test_a_load_nobody_waits_for_ends_early(
        self, scheduler: Scheduler, backend: GatedBackend
    ) -> None:
        alone = Caller(scheduler, A)
        await backend.next_load()
        await alone.cancel()
        other = Caller(scheduler, B)
        load = await backend.next_load()
        assert load.model is B, "A's load made way although nobody finished it"
        load.finish()
        await other.granted()

    async def test_one_who_comes_while_it_ends_gets_a_load_of_its_own(
        self, scheduler: Scheduler, backend: GatedBackend
    ) -> None:
        first = Caller(scheduler, A)
        await backend.next_load()
        await first.cancel()
        second = Caller(scheduler, A)
        load = await backend.next_load()
        load.finish()
        assert (await second.granted()).runner is load.runner


async def test_shutdown_ends_everything(backend: GatedBackend, clock: ManualClock) -> None:
    scheduler = make_scheduler(backend, clock)
    speaking = Caller(scheduler, A)
    runner = (await backend.next_load()).finish()
    await speaking.granted()
    loading = Caller(scheduler, B)
    load = await backend.next_load()
    await scheduler.shutdown()
    assert runner.closes == 1
    with pytest.raises(Busy, match="shutting down"):
        await loading.granted()
    with pytest.raises(Busy, match="shutting down"):
        await Caller(scheduler, A).granted()
    await load.finish().closed.wait()
    await speaking.leave()
    await scheduler.shutdown()
    assert scheduler.loaded() == []
    assert runner.closes == 1


async def test_shutdown_waits_for_what_is_on_its_way_out(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    caller = Caller(scheduler, A)
    runner = (await backend.next_load()).finish()
    await caller.granted()
    await caller.leave()
    runner.may_close.clear()
    clock.advance(300)
    shutting = asyncio.create_task(scheduler.shutdown())
    await settle()
    assert not shutting.done()
    runner.may_close.set()
    await shutting
    assert runner.closes == 1


async def test_the_loops_own_clock_is_the_default() -> None:
    scheduler = Scheduler(Settings(), Catalog(), Metrics())
    caller = Caller(scheduler, A, keep_alive_s=600)
    lease = await caller.granted()
    assert lease.load_ns > 0
    await caller.leave()
    (model,) = scheduler.loaded()
    assert 590 < (model.expires_at - datetime.now(UTC)).total_seconds() <= 600
    await scheduler.shutdown()


async def test_a_close_that_fails_is_logged_and_the_model_is_gone(
    scheduler: Scheduler, backend: GatedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caller = Caller(scheduler, A)
    runner = (await backend.next_load()).finish()
    await caller.granted()
    await caller.leave()
    runner.close_error = LoadFailed("the device is lost")
    await scheduler.unload(A)
    await settle()
    assert "the device is lost" in caplog.text
    assert scheduler.loaded() == []


async def test_a_load_that_ends_after_the_loop_harms_nobody(clock: ManualClock) -> None:
    """The thread of a load outlives the loop that wanted it; it must end without a traceback."""
    backend = GatedBackend()

    async def run() -> None:
        scheduler = make_scheduler(backend, clock)
        caller = Caller(scheduler, A)
        await backend.next_load()
        await scheduler.shutdown()
        with pytest.raises(Busy):
            await caller.granted()

    await asyncio.to_thread(asyncio.run, run())
    backend.loads[0].finish()
    await asyncio.to_thread(backend.loads[0].thread.join)
