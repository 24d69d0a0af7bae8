"""Places on a model, the order of those who wait, and how many may."""

import asyncio

import pytest

from ollama_tts.errors import Busy
from ollama_tts.scheduler import Scheduler
from ollama_tts.scheduler.drain import LONGEST_RETRY_S, DrainRate, retry_after_s
from tests.support.gated_backend import GatedBackend
from tests.support.local_models import local_model
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import Caller, make_scheduler, settle

A = local_model("a")
B = local_model("b")
FULL = "server busy, please try again.  maximum pending requests exceeded"


async def test_as_many_places_as_the_voice_has(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=3, open_gates=True), clock)
    callers = [Caller(scheduler, A) for _ in range(4)]
    for caller in callers[:3]:
        await caller.granted()
    assert callers[3].waits
    assert (scheduler.active, scheduler.queue_depth) == (3, 1)
    await scheduler.shutdown()


async def test_as_many_places_as_the_operator_sets(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock, num_parallel=2)
    callers = [Caller(scheduler, A) for _ in range(3)]
    await callers[0].granted()
    await callers[1].granted()
    assert callers[2].waits
    await scheduler.shutdown()


@pytest.mark.parametrize("loaded", [True, False])
async def test_ten_requests_two_places_a_queue_of_two(clock: ManualClock, loaded: bool) -> None:
    """pc-032: the limit holds for a loaded model as for one that must be loaded."""
    backend = GatedBackend(slots=8, open_gates=loaded)
    scheduler = make_scheduler(backend, clock, num_parallel=2, max_queue=2)
    if loaded:
        warm = Caller(scheduler, A)
        await warm.granted()
        await warm.leave()
    callers = [Caller(scheduler, A) for _ in range(10)]
    await settle()
    refused = [caller for caller in callers if caller.task.done()]
    assert refused == callers[4:]
    for caller in refused:
        with pytest.raises(Busy) as busy:
            await caller.granted()
        assert str(busy.value) == FULL
        assert busy.value.retry_after_s >= 1
    if not loaded:
        (await backend.next_load()).finish()
    for caller in callers[:4]:
        await caller.granted()
        await caller.leave()
    afterwards = Caller(scheduler, A)
    await afterwards.granted()
    await scheduler.shutdown()


async def test_the_queue_is_one_for_all_models(clock: ManualClock) -> None:
    backend = GatedBackend(slots=1, open_gates=True)
    scheduler = make_scheduler(backend, clock, max_loaded_models=1, max_queue=2)
    speaking = Caller(scheduler, A)
    await speaking.granted()
    waiting = [Caller(scheduler, B), Caller(scheduler, A)]
    await settle()
    with pytest.raises(Busy, match="maximum pending"):
        await Caller(scheduler, B).granted()
    await speaking.leave()
    for caller in waiting:
        await caller.granted()
        await caller.leave()
    await scheduler.shutdown()


async def test_without_a_queue_only_free_places_and_first_loads(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock, max_queue=0)
    await Caller(scheduler, A).granted()
    with pytest.raises(Busy):
        await Caller(scheduler, A).granted()
    await scheduler.shutdown()


async def test_a_refused_request_evicts_nothing(clock: ManualClock) -> None:
    backend = GatedBackend(slots=1, open_gates=True)
    scheduler = make_scheduler(backend, clock, max_loaded_models=2, max_queue=1)
    busy = Caller(scheduler, A)
    await busy.granted()
    idle = Caller(scheduler, B)
    await idle.granted()
    await idle.leave()
    Caller(scheduler, A)
    await settle()
    with pytest.raises(Busy):
        await Caller(scheduler, local_model("c")).granted()
    assert backend.runners[1].closes == 0
    await scheduler.shutdown()


async def test_higher_priority_first_then_first_come(scheduler: Scheduler) -> None:
    speaking = Caller(scheduler, A)
    await speaking.granted()
    low = Caller(scheduler, A, priority=-1)
    first = Caller(scheduler, A)
    high = Caller(scheduler, A, priority=5)
    await settle()
    order = []
    for expected in (high, first, low):
        await speaking.leave()
        await expected.granted()
        order.append([caller.speaks for caller in (low, first, high)].count(True))
        speaking = expected
    assert order == [1, 1, 1]


async def test_one_who_leaves_the_queue_makes_room_in_it(scheduler: Scheduler) -> None:
    speaking = Caller(scheduler, A)
    await speaking.granted()
    waiting = [Caller(scheduler, A) for _ in range(3)]
    await settle()
    await waiting[1].cancel()
    last = Caller(scheduler, A)
    await settle()
    assert last.waits
    for caller in (speaking, waiting[0], waiting[2]):
        await caller.granted()
        await caller.leave()
    await last.granted()


async def test_a_place_granted_to_one_who_just_left_goes_to_the_next(
    scheduler: Scheduler,
) -> None:
    speaking = Caller(scheduler, A)
    await speaking.granted()
    second, third = Caller(scheduler, A), Caller(scheduler, A)
    await settle()
    speaking.end()
    await asyncio.sleep(0)
    assert scheduler.queue_depth == 1, "granted"
    assert not second.speaks, "but its task has not run yet"
    second.task.cancel()
    await asyncio.wait({second.task})
    assert second.task.cancelled()
    await third.granted()
    assert scheduler.active == 1


async def test_one_who_was_cancelled_gets_no_place(scheduler: Scheduler) -> None:
    speaking = Caller(scheduler, A)
    await speaking.granted()
    second, third = Caller(scheduler, A), Caller(scheduler, A)
    await settle()
    speaking.task.cancel()
    second.task.cancel()  # not yet out of the queue when the place falls free
    await third.granted()
    assert (scheduler.active, scheduler.queue_depth) == (1, 0)


async def test_a_cancelled_speaker_frees_its_place(scheduler: Scheduler) -> None:
    speaking = Caller(scheduler, A)
    await speaking.granted()
    second = Caller(scheduler, A)
    await speaking.cancel()
    await second.granted()


async def test_one_who_is_refused_and_cancelled_at_once_harms_nobody(
    scheduler: Scheduler,
) -> None:
    speaking = Caller(scheduler, A)
    await speaking.granted()
    waiting = Caller(scheduler, A)
    await settle()
    shutting = asyncio.create_task(scheduler.shutdown())
    await asyncio.sleep(0)
    waiting.task.cancel()
    await asyncio.wait({waiting.task})
    assert waiting.task.cancelled()
    await shutting


# when to come again


def test_unknown_rate_is_one_second() -> None:
    assert DrainRate().wait_s(100, 4) == 0
    assert retry_after_s(0.0) == 1


@pytest.mark.parametrize(
    ("held_s", "ahead", "places", "wait_s", "retry_s"),
    [(2.0, 4, 1, 8.0, 8), (2.0, 4, 4, 2.0, 2), (0.1, 4, 1, 0.4, 1), (60.0, 9, 1, 540.0, 120)],
)
def test_the_rate_is_measured(
    held_s: float, ahead: int, places: int, wait_s: float, retry_s: int
) -> None:
    rate = DrainRate()
    for _ in range(10):
        rate.ended(held_s)
    assert rate.wait_s(ahead, places) == pytest.approx(wait_s)
    assert retry_after_s(rate.wait_s(ahead, places)) == retry_s == min(retry_s, LONGEST_RETRY_S)


def test_a_rate_forgets_what_is_long_ago() -> None:
    rate = DrainRate(remembered=4)
    rate.ended(1000.0)
    for _ in range(4):
        rate.ended(1.0)
    assert rate.wait_s(3, 1) == 3.0


async def test_a_full_queue_says_when_to_come_again(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock, max_queue=2)
    for _ in range(5):
        caller = Caller(scheduler, A)
        await caller.granted()
        clock.advance(10)
        await caller.leave()
    for _ in range(3):
        Caller(scheduler, A)
    await settle()
    with pytest.raises(Busy) as busy:
        await Caller(scheduler, A).granted()
    assert busy.value.retry_after_s == 20
    await scheduler.shutdown()
