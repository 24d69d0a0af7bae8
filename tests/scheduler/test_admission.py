"""Who waits, who goes next, who is turned away: the policy alone, then by a scheduler."""

from collections import Counter

import pytest

from ollama_tts.errors import Busy
from ollama_tts.scheduler.admission import (
    LONG_CHARS,
    LONG_S,
    PATIENCE_S,
    Admission,
    Bounds,
    Claim,
    Terms,
    places,
)
from tests.support.gated_backend import GatedBackend
from tests.support.local_models import local_model
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import Caller, make_scheduler, settle

A, B = local_model("a"), local_model("b")
NOBODY: Counter[str] = Counter()


class Queue:
    """An admission whose requests come one after another, at the moments that a test says."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.admission: Admission[Claim] = Admission(bounds or Bounds(100, 100))
        self._arrived = 0

    def ask(
        self, client: str = "", priority: int = 0, *, key: str = "m", at_s: float = 0.0
    ) -> Claim:
        self._arrived += 1
        terms = Terms(client, priority)
        claim = Claim(key=key, terms=terms, number=self._arrived, since_s=at_s)
        self.admission.come(claim, at_s)
        return claim

    def serve_all(self, took_s: float, at_s: float = 0.0) -> list[Claim]:
        """One after another, in order of service."""
        served = []
        while self.admission.waiting:
            first = self.admission.in_order(at_s)[0]
            self.admission.begin(first, at_s)
            at_s += took_s
            assert self.admission.end(first, at_s) == took_s
            served.append(first)
        return served


def test_by_priority_then_in_order_of_arrival() -> None:
    queue = Queue()
    low, first, high, second = (queue.ask(priority=p) for p in (-1, 0, 5, 0))
    assert queue.serve_all(1.0) == [high, first, second, low]


def test_callers_take_turns_however_many_requests_each_has() -> None:
    queue = Queue()
    many = [queue.ask("many") for _ in range(6)]
    few = [queue.ask("few") for _ in range(2)]
    order = [claim.terms.client for claim in queue.serve_all(1.0)]
    assert order[:4] == ["many", "few", "many", "few"]
    assert len(order) == len(many) + len(few)


def test_who_has_held_places_for_long_comes_later() -> None:
    queue = Queue()
    long, short = queue.ask("long"), queue.ask("short")
    stays = {name: queue.ask(name) for name in ("long", "short")}
    queue.admission.begin(long, 0.0)
    queue.admission.begin(short, 0.0)
    queue.admission.end(short, 1.0)
    queue.admission.end(long, 60.0)
    assert queue.admission.in_order(60.0) == [stays["short"], stays["long"]]


def test_no_priority_starves() -> None:
    """One of priority -3 beside others of priority 0 that never end."""
    queue = Queue()
    low = queue.ask("low", -3)
    at_s = 0.0
    while low in queue.admission.waiting:
        queue.ask("busy", 0, at_s=at_s)
        first = queue.admission.in_order(at_s)[0]
        queue.admission.begin(first, at_s)
        at_s += 1.0
        queue.admission.end(first, at_s)
        assert at_s < 5 * PATIENCE_S
    assert at_s > 2 * PATIENCE_S


def test_one_too_many_costs_the_newest_of_the_lowest_priority() -> None:
    queue = Queue(Bounds(3, 100))
    queue.ask(priority=-1)
    newest_low = queue.ask(priority=-1)
    queue.ask(priority=3)
    assert queue.admission.one_too_many("m", NOBODY) is None
    queue.ask(priority=0)
    assert queue.admission.one_too_many("m", NOBODY) is newest_low


def test_among_equals_it_costs_the_caller_with_most() -> None:
    queue = Queue(Bounds(4, 100))
    crowd = [queue.ask("crowd") for _ in range(4)]
    queue.ask("one")
    assert queue.admission.one_too_many("m", NOBODY) is crowd[-1]


def test_a_model_has_a_bound_of_its_own() -> None:
    queue = Queue(Bounds(100, 1))
    queue.ask(key="m")
    other = queue.ask(key="other")
    assert queue.admission.one_too_many("other", NOBODY) is None
    newcomer = queue.ask(key="m")
    assert queue.admission.one_too_many("m", NOBODY) is newcomer
    assert queue.admission.one_too_many("m", Counter(m=1)) is None, "a place is on its way"
    queue.admission.leave(other)
    assert other not in queue.admission.waiting


def test_in_vain_is_what_comes_too_late() -> None:
    queue = Queue(Bounds(9, 9, longest_s=2.0))
    claim = queue.ask()
    assert not queue.admission.in_vain(claim, 2.0, 0.0)
    assert queue.admission.in_vain(claim, 2.1, 0.0)
    hurried = Claim(key="m", terms=Terms(deadline_s=5.0), number=9, since_s=0.0)
    assert not queue.admission.in_vain(hurried, 0.5, 4.0)
    assert queue.admission.in_vain(hurried, 1.0, 4.0)
    assert queue.admission.overdue(1.9) == []
    assert queue.admission.overdue(2.0) == [claim]


def speaking(*chars: int | None, begun_s: float = 0.0) -> list[Claim]:
    return [
        Claim(key="m", terms=Terms(chars=n), number=i, since_s=0.0, begun_s=begun_s)
        for i, n in enumerate(chars)
    ]


SHORT, LONG = 10, LONG_CHARS + 1


@pytest.mark.parametrize(
    ("slots", "held", "asked", "room"),
    [
        (4, [SHORT] * 4, SHORT, 4),
        (4, [LONG] * 4, SHORT, 5),  # a quarter more
        (4, [LONG] * 4, LONG, 4),
        (16, [LONG] * 16, SHORT, 20),
        (16, [LONG, *[SHORT] * 15], SHORT, 17),  # one place more for each long one
        (1, [LONG], SHORT, 2),
        (1, [LONG], None, 2),  # how long it is will be seen
    ],
)
def test_short_requests_have_places_beside_long_ones(
    slots: int, held: list[int], asked: int | None, room: int
) -> None:
    claim = Claim(key="m", terms=Terms(chars=asked), number=99, since_s=0.0)
    assert places(slots, speaking(*held), claim, 1.0) == room


def test_who_has_spoken_for_long_is_long() -> None:
    claim = Claim(key="m", terms=Terms(chars=SHORT), number=99, since_s=0.0)
    assert places(1, speaking(SHORT), claim, LONG_S - 0.1) == 1
    assert places(1, speaking(SHORT), claim, LONG_S) == 2


# by a scheduler


async def busy(caller: Caller) -> Busy:
    with pytest.raises(Busy) as refused:
        await caller.granted()
    return refused.value


async def test_a_full_queue_sheds_the_lowest_priority_for_a_higher_one(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock, max_queue=2)
    speaks = Caller(scheduler, A)
    await speaks.granted()
    low = [Caller(scheduler, A, priority=-1) for _ in range(2)]
    await settle()
    high = Caller(scheduler, A, priority=1)
    assert (await busy(low[1])).retry_after_s >= 1
    assert low[0].waits
    await speaks.leave()
    await high.granted()
    await scheduler.shutdown()


async def test_a_model_that_is_popular_leaves_room_for_others(clock: ManualClock) -> None:
    scheduler = make_scheduler(
        GatedBackend(slots=1, open_gates=True), clock, max_queue=10, max_queue_per_model=1
    )
    speak = [Caller(scheduler, model) for model in (A, B)]
    for caller in speak:
        await caller.granted()
    waiting = [Caller(scheduler, model) for model in (A, B)]
    await busy(Caller(scheduler, A))
    assert all(caller.waits for caller in waiting)
    await scheduler.shutdown()


async def measured(clock: ManualClock, held_s: float, **settings: object) -> Caller:
    """One who speaks on a model whose requests are known to take `held_s`."""
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock, **settings)
    warm = Caller(scheduler, A)
    await warm.granted()
    clock.advance(held_s)
    await warm.leave()
    speaks = Caller(scheduler, A)
    await speaks.granted()
    return speaks


async def test_who_would_wait_too_long_is_told_at_once(clock: ManualClock) -> None:
    speaks = await measured(clock, 4.0, max_wait_s=10.0)
    waiting = [Caller(speaks.scheduler, A) for _ in range(2)]
    refused = await busy(Caller(speaks.scheduler, A))
    assert refused.retry_after_s == 8
    assert all(caller.waits for caller in waiting)
    await speaks.scheduler.shutdown()


async def test_who_has_waited_too_long_all_the_same_is_told_then(clock: ManualClock) -> None:
    speaks = await measured(clock, 4.0, max_wait_s=10.0)
    waits = Caller(speaks.scheduler, A)
    await settle()
    clock.advance(9.75)
    await settle()
    assert waits.waits
    clock.advance(0.25)
    await busy(waits)
    assert speaks.speaks
    await speaks.scheduler.shutdown()


async def test_a_deadline_that_cannot_be_kept_takes_no_place_in_the_queue(
    clock: ManualClock,
) -> None:
    speaks = await measured(clock, 4.0)
    now_s = clock.time()
    hopeful = Caller(speaks.scheduler, A, deadline_s=now_s + 5)
    await busy(Caller(speaks.scheduler, A, deadline_s=now_s + 5))
    assert hopeful.waits
    await speaks.scheduler.shutdown()


async def test_a_short_request_passes_long_ones_that_wait(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock)
    first = Caller(scheduler, A, chars=LONG)
    await first.granted()
    second = Caller(scheduler, A, chars=LONG)
    await settle()
    short = Caller(scheduler, A, chars=SHORT)
    await short.granted()
    assert second.waits
    await short.leave()
    assert second.waits, "that place is none for long ones"
    assert first.speaks
    await scheduler.shutdown()


async def test_one_who_turns_out_long_makes_room_for_a_short_one(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock)
    first = Caller(scheduler, A)
    await first.granted()
    short = Caller(scheduler, A, chars=SHORT)
    await settle()
    assert short.waits
    clock.advance(LONG_S)
    await short.granted()
    assert first.speaks
    await scheduler.shutdown()


async def test_a_newcomer_goes_before_the_rest_of_a_crowd(clock: ManualClock) -> None:
    scheduler = make_scheduler(GatedBackend(slots=1, open_gates=True), clock)
    speaks = Caller(scheduler, A, client="crowd")
    await speaks.granted()
    crowd = [Caller(scheduler, A, client="crowd") for _ in range(3)]
    await settle()
    other = Caller(scheduler, A, client="other")
    await settle()
    clock.advance(1.0)
    await speaks.leave()
    await other.granted()
    assert all(caller.waits for caller in crowd)
    await scheduler.shutdown()
