import math
from datetime import timedelta

from ollama_tts.options import LoadOptions
from ollama_tts.scheduler import Scheduler
from tests.support.gated_backend import GatedBackend
from tests.support.local_models import local_model
from tests.support.manual_clock import START, ManualClock
from tests.support.scheduling import Caller, settle

A = local_model("a")
B = local_model("b")


async def speak(scheduler: Scheduler, keep_alive_s: float | None = None) -> None:
    caller = Caller(scheduler, A, keep_alive_s=keep_alive_s)
    await caller.granted()
    await caller.leave()


async def test_an_idle_model_goes_when_its_time_is_over(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    await speak(scheduler)
    clock.advance(299)
    await settle()
    assert [m.name.short for m in scheduler.loaded()] == ["a:latest"]
    clock.advance(1)
    await backend.runners[0].closed.wait()
    await settle()
    assert scheduler.loaded() == []


async def test_use_stops_the_clock_and_the_end_of_use_starts_it_anew(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    await speak(scheduler)
    clock.advance(200)
    caller = Caller(scheduler, A)
    await caller.granted()
    clock.advance(10_000)
    await settle()
    assert backend.runners[0].closes == 0
    await caller.leave()
    clock.advance(299)
    await settle()
    assert backend.runners[0].closes == 0
    clock.advance(1)
    await backend.runners[0].closed.wait()


async def test_none_keeps_what_the_model_had(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    await speak(scheduler, keep_alive_s=10)
    await speak(scheduler)
    clock.advance(10)
    await backend.runners[0].closed.wait()


async def test_a_given_value_replaces_it(scheduler: Scheduler, clock: ManualClock) -> None:
    await speak(scheduler, keep_alive_s=10)
    await speak(scheduler, keep_alive_s=600)
    clock.advance(599)
    await settle()
    assert len(scheduler.loaded()) == 1


async def test_zero_unloads_after_the_answer(scheduler: Scheduler, backend: GatedBackend) -> None:
    await speak(scheduler, keep_alive_s=0)
    await backend.runners[0].closed.wait()
    await settle()
    assert scheduler.loaded() == []


async def test_negative_and_infinite_are_for_ever(scheduler: Scheduler, clock: ManualClock) -> None:
    for keep_alive_s in (-1.0, math.inf):
        await speak(scheduler, keep_alive_s=keep_alive_s)
        clock.advance(1e9)
        await settle()
        (model,) = scheduler.loaded()
        assert 2200 <= model.expires_at.year <= 9999
        assert clock.pending == 0


async def test_what_outlasts_the_calendar_is_for_ever(scheduler: Scheduler) -> None:
    await speak(scheduler, keep_alive_s=1e12)
    (model,) = scheduler.loaded()
    assert 2200 <= model.expires_at.year <= 9999


async def test_expiry_as_ps_shows_it(scheduler: Scheduler, clock: ManualClock) -> None:
    caller = Caller(scheduler, A, keep_alive_s=60)
    await caller.granted()
    clock.advance(5)
    (busy,) = scheduler.loaded()
    assert busy.expires_at == START + timedelta(seconds=65)
    assert (busy.active, busy.loading) == (1, False)
    await caller.leave()
    clock.advance(20)
    (idle,) = scheduler.loaded()
    assert idle.expires_at == START + timedelta(seconds=65)
    assert (idle.size_bytes, idle.vram_bytes, idle.context_length) == (1000, 400, 250)
    assert idle.digest == A.digest
    assert idle.notes == {"quantization": "none"}


async def test_the_longest_kept_is_shown_first(scheduler: Scheduler) -> None:
    callers = [Caller(scheduler, A, keep_alive_s=60.0), Caller(scheduler, B, keep_alive_s=600.0)]
    for caller in callers:
        await caller.granted()
    assert [model.name.short for model in scheduler.loaded()] == ["b:latest", "a:latest"]


async def test_unload_of_an_idle_model_returns_when_it_is_gone(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    await speak(scheduler)
    await scheduler.unload(A)
    assert backend.runners[0].closes == 1
    assert scheduler.loaded() == []


async def test_unload_waits_for_those_who_speak_and_those_who_wait(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    speaking = Caller(scheduler, A)
    await speaking.granted()
    waiting = Caller(scheduler, A)
    await settle()
    await scheduler.unload(A)
    assert backend.runners[0].closes == 0
    (model,) = scheduler.loaded()
    assert model.expires_at == clock.now(), "ps prints Stopping..."
    await speaking.leave()
    await waiting.granted()
    assert len(backend.loads) == 1
    await waiting.leave()
    await backend.runners[0].closed.wait()


async def test_unload_of_what_is_not_loaded_is_nothing(scheduler: Scheduler) -> None:
    await scheduler.unload(A)
    assert scheduler.loaded() == []


async def test_a_model_on_its_way_out_is_shown_as_expired(
    scheduler: Scheduler, backend: GatedBackend, clock: ManualClock
) -> None:
    await speak(scheduler)
    backend.runners[0].may_close.clear()
    clock.advance(300)
    await settle()
    (model,) = scheduler.loaded()
    assert model.expires_at == clock.now()
    again = Caller(scheduler, A, LoadOptions())
    await settle()
    assert again.waits
    backend.runners[0].may_close.set()
    lease = await again.granted()
    assert lease.runner is backend.runners[1]
