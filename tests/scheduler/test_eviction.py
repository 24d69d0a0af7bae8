"""Who makes way, and when a model is loaded anew."""

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest

from ollama_tts.errors import EngineDead, OutOfMemory
from ollama_tts.options import LoadOptions
from ollama_tts.scheduler import Scheduler
from ollama_tts.scheduler.entry import same_load
from tests.support.gated_backend import GatedBackend
from tests.support.local_models import local_model
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import Caller, make_scheduler, settle

A = local_model("a")
B = local_model("b")
C = local_model("c")


def names(scheduler: Scheduler) -> set[str]:
    return {model.name.model for model in scheduler.loaded()}


async def use(scheduler: Scheduler, name: str, keep_alive_s: float | None = None) -> None:
    caller = Caller(scheduler, local_model(name), keep_alive_s=keep_alive_s)
    await caller.granted()
    await caller.leave()


@pytest.mark.parametrize(
    ("kept", "stays"),
    [
        ((300.0, 10.0), {"a", "c"}),
        ((10.0, 300.0), {"b", "c"}),
        ((60.0, 60.0), {"b", "c"}),  # a tie goes by name
        ((math.inf, 1e9), {"a", "c"}),
    ],
)
async def test_the_idle_model_with_the_shortest_keep_alive_goes(
    scheduler: Scheduler, kept: tuple[float, float], stays: set[str]
) -> None:
    await use(scheduler, "a", kept[0])
    await use(scheduler, "b", kept[1])
    await use(scheduler, "c")
    assert names(scheduler) == stays


async def test_a_busy_model_stays_while_an_idle_one_can_go(scheduler: Scheduler) -> None:
    busy = Caller(scheduler, A, keep_alive_s=1)
    await busy.granted()
    await use(scheduler, "b", math.inf)
    await Caller(scheduler, C).granted()
    assert names(scheduler) == {"a", "c"}


async def test_where_none_is_idle_the_newcomer_waits_for_the_shortest_kept(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    a, b = Caller(scheduler, A, keep_alive_s=60), Caller(scheduler, B, keep_alive_s=30)
    await a.granted()
    await b.granted()
    c = Caller(scheduler, C)
    late_b = Caller(scheduler, B)
    await settle()
    assert c.waits
    await b.leave()
    await c.granted()
    assert late_b.waits, "who came after the newcomer does not keep the model in its way busy"
    assert names(scheduler) == {"a", "c"}
    await c.leave()
    await late_b.granted()
    assert len(backend.loads) == 4


async def test_any_model_that_falls_idle_first_makes_way(scheduler: Scheduler) -> None:
    a, b = Caller(scheduler, A, keep_alive_s=60), Caller(scheduler, B, keep_alive_s=30)
    await a.granted()
    await b.granted()
    c = Caller(scheduler, C)
    await settle()
    await a.leave()
    await c.granted()
    assert names(scheduler) == {"b", "c"}


async def test_who_came_before_the_newcomer_is_served_first(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    a, b = Caller(scheduler, A), Caller(scheduler, B)
    await a.granted()
    await b.granted()
    second_a, c = Caller(scheduler, A), Caller(scheduler, C)
    await settle()
    await a.leave()
    await second_a.granted()
    assert c.waits
    await second_a.leave()
    await c.granted()
    assert len(backend.loads) == 3


async def test_a_newcomer_that_leaves_evicts_nobody(scheduler: Scheduler) -> None:
    a, b = Caller(scheduler, A), Caller(scheduler, B)
    await a.granted()
    await b.granted()
    c = Caller(scheduler, C)
    await settle()
    await c.cancel()
    await a.leave()
    await b.leave()
    await settle()
    assert names(scheduler) == {"a", "b"}


async def test_a_model_on_its_way_out_still_takes_its_place(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    await use(scheduler, "a")
    await use(scheduler, "b")
    leaving = backend.runners[0]
    leaving.may_close.clear()
    c = Caller(scheduler, C)
    await settle()
    assert len(backend.loads) == 2, "a's memory is not free yet"
    leaving.may_close.set()
    await c.granted()
    assert names(scheduler) == {"b", "c"}


async def test_three_models_where_no_limit_is_set(
    backend: GatedBackend, clock: ManualClock
) -> None:
    scheduler = make_scheduler(backend, clock)
    for name in "abcd":
        await use(scheduler, name)
    assert names(scheduler) == {"b", "c", "d"}
    await scheduler.shutdown()


# sharing and reloading


async def test_models_of_the_same_weights_share_one(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    await use(scheduler, "a")
    derived = local_model("narrator", weights_key="a")
    lease = await Caller(scheduler, derived).granted()
    assert lease.runner is backend.runners[0]
    assert names(scheduler) == {"a"}, "ps shows the name that had it loaded"


async def test_stopping_one_stops_all_that_share_it(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    await use(scheduler, "a")
    await scheduler.unload(local_model("narrator", weights_key="a"))
    assert backend.runners[0].closes == 1


async def test_other_load_options_load_it_anew(scheduler: Scheduler, backend: GatedBackend) -> None:
    await use(scheduler, "a")
    caller = Caller(scheduler, A, LoadOptions(num_ctx=512))
    lease = await caller.granted()
    assert lease.runner is backend.runners[1]
    assert backend.runners[0].closes == 1
    assert backend.loads[1].options.num_ctx == 512


async def test_a_reload_waits_for_who_speaks_and_nobody_overtakes_it(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    old = Caller(scheduler, A)
    await old.granted()
    other = Caller(scheduler, A, LoadOptions(num_ctx=512))
    same = Caller(scheduler, A)
    await settle()
    assert other.waits
    await old.leave()
    await other.granted()
    assert same.waits
    await other.leave()
    assert (await same.granted()).runner is backend.runners[2]


async def test_other_options_during_a_load_wait_for_a_load_of_their_own(
    clock: ManualClock,
) -> None:
    backend = GatedBackend(slots=1)
    scheduler = make_scheduler(backend, clock)
    first = Caller(scheduler, A)
    load = await backend.next_load()
    other = Caller(scheduler, A, LoadOptions(num_ctx=512))
    load.finish()
    await first.granted()
    await first.leave()
    (await backend.next_load()).finish()
    await other.granted()
    await scheduler.shutdown()


@pytest.mark.parametrize(
    ("loaded", "wanted", "same"),
    [
        (LoadOptions(), LoadOptions(), True),
        (LoadOptions(num_gpu=5), LoadOptions(num_gpu=-1), True),
        (LoadOptions(num_gpu=-1), LoadOptions(num_gpu=5), False),
        (LoadOptions(num_gpu=5), LoadOptions(num_gpu=0), False),
        (LoadOptions(), LoadOptions(tone_load_s=5), True),
        (LoadOptions(), LoadOptions(num_thread=1), False),
        (LoadOptions(), LoadOptions(num_batch=1), False),
        (LoadOptions(), LoadOptions(main_gpu=1), False),
        (LoadOptions(quantization="int8"), LoadOptions(), False),
        (LoadOptions(), LoadOptions(backend="reference"), False),
        (LoadOptions(), LoadOptions(compile=True), False),
        (LoadOptions(), LoadOptions(flash_attention=False), False),
    ],
)
def test_which_options_need_a_reload(loaded: LoadOptions, wanted: LoadOptions, same: bool) -> None:
    assert same_load(loaded, wanted) is same


# death and memory


async def test_a_dead_engine_is_dropped_and_the_next_request_loads_anew(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    caller = Caller(scheduler, A)
    await caller.granted()
    await caller.fail(EngineDead("the voice's thread ended"))
    lease = await Caller(scheduler, A).granted()
    assert lease.runner is backend.runners[1]
    assert backend.runners[0].closes == 1


async def test_a_dead_engine_waits_for_the_others_on_it(clock: ManualClock) -> None:
    backend = GatedBackend(slots=2, open_gates=True)
    scheduler = make_scheduler(backend, clock)
    one, two = Caller(scheduler, A), Caller(scheduler, A)
    await one.granted()
    await two.granted()
    await one.fail(EngineDead("gone"))
    three = Caller(scheduler, A)
    await settle()
    assert three.waits
    assert backend.runners[0].closes == 0
    await two.fail(EngineDead("gone"))
    assert (await three.granted()).runner is backend.runners[1]
    await scheduler.shutdown()


async def test_other_failures_keep_the_model(scheduler: Scheduler, backend: GatedBackend) -> None:
    caller = Caller(scheduler, A)
    await caller.granted()
    await caller.fail(ValueError("not the model's fault"))
    await Caller(scheduler, A).granted()
    assert len(backend.loads) == 1


async def test_no_memory_while_speaking_lets_every_model_go(
    scheduler: Scheduler, backend: GatedBackend
) -> None:
    await use(scheduler, "b", math.inf)
    caller = Caller(scheduler, A, keep_alive_s=math.inf)
    await caller.granted()
    await caller.fail(OutOfMemory("not even one utterance"))
    await settle()
    assert scheduler.loaded() == []
    assert [runner.closes for runner in backend.runners] == [1, 1]


class TestNoMemoryToLoad:
    @pytest.fixture
    def backend(self) -> GatedBackend:
        return GatedBackend(slots=1)

    async def load(self, scheduler: Scheduler, backend: GatedBackend, name: str) -> Caller:
        caller = Caller(scheduler, local_model(name), keep_alive_s=math.inf)
        (await backend.next_load()).finish()
        await caller.granted()
        return caller

    async def test_all_others_go_and_it_is_tried_once_more(
        self, backend: GatedBackend, clock: ManualClock
    ) -> None:
        scheduler = make_scheduler(backend, clock)
        a, b = await self.load(scheduler, backend, "a"), await self.load(scheduler, backend, "b")
        await a.leave()
        c = Caller(scheduler, C)
        (await backend.next_load()).fail(OutOfMemory("no"))
        await backend.runners[0].closed.wait()
        late_b = Caller(scheduler, B)
        await settle()
        assert backend.runners[1].closes == 0, "b still speaks"
        await b.leave()
        again = await backend.next_load()
        assert names(scheduler) == {"c"}
        again.finish()
        await c.granted()
        (await backend.next_load()).finish()
        await late_b.granted()
        await scheduler.shutdown()

    async def test_the_second_failure_is_the_answer(
        self, scheduler: Scheduler, backend: GatedBackend
    ) -> None:
        await (await self.load(scheduler, backend, "a")).leave()
        b = Caller(scheduler, B)
        (await backend.next_load()).fail(OutOfMemory("1 GiB more needed"))
        (await backend.next_load()).fail(OutOfMemory("1 GiB more needed"))
        with pytest.raises(OutOfMemory, match="1 GiB"):
            await b.granted()
        assert backend.runners[0].closes == 1

    async def test_without_others_there_is_no_second_try(
        self, scheduler: Scheduler, backend: GatedBackend
    ) -> None:
        a = Caller(scheduler, A)
        (await backend.next_load()).fail(OutOfMemory("no"))
        with pytest.raises(OutOfMemory):
            await a.granted()
        assert len(backend.loads) == 1

    async def test_one_who_leaves_meanwhile_spares_the_others(
        self, scheduler: Scheduler, backend: GatedBackend
    ) -> None:
        a = await self.load(scheduler, backend, "a")
        b = Caller(scheduler, B)
        (await backend.next_load()).fail(OutOfMemory("no"))
        await asyncio.to_thread(backend.loads[-1].thread.join)
        await settle()
        assert names(scheduler) == {"a"}
        await b.cancel()
        await a.leave()
        await settle()
        assert names(scheduler) == {"a"}


def test_same_load_is_over_all_fields() -> None:
    """A new load option must not be forgotten: every field but the two exceptions counts."""
    changed: dict[str, Any] = {
        "quantization": "fp32", "main_gpu": 3, "num_ctx": 64, "num_batch": 2, "num_thread": 7,
        "compile": True, "flash_attention": False, "backend": "torch",
    }  # fmt: skip
    assert set(changed) | {"num_gpu", "tone_load_s"} == set(LoadOptions.__dataclass_fields__)
    for name, value in changed.items():
        assert not same_load(LoadOptions(), replace(LoadOptions(), **{name: value}))
