import itertools
from dataclasses import dataclass, field

from hypothesis import given, settings, strategies as st

from ollama_tts.engine.batcher import Batcher, Entry, Limits
from tests.support.scripted_model import job


def entry(
    age: int,
    *,
    request: str = "",
    index: int = 0,
    priority: int = 0,
    prompt: int = 5,
    since_s: float = 0.0,
    deadline_s: float | None = None,
) -> Entry:
    return Entry(
        job(age, prompt=prompt),
        age,
        since_s=since_s,
        request=request or f"r{age}",
        index=index,
        priority=priority,
        deadline_s=deadline_s,
    )


def batcher(*entries: Entry, slots: int = 4, **limits: float) -> Batcher:
    made = Batcher(Limits(slots, **limits))  # type: ignore[arg-type]
    for one in entries:
        made.add(one)
    return made


def ages(entries: list[Entry]) -> list[int]:
    return [e.age for e in entries]


def speaking(made: Batcher, now_s: float = 0.0) -> list[Entry]:
    """Admit all there is room for, with their prompts read."""
    admitted = made.admit(now_s)
    for one in admitted:
        one.read = len(one.job.prompt)
    return admitted


def test_slots_are_given_lowest_first_and_only_while_there_are_some() -> None:
    made = batcher(*(entry(n) for n in range(6)))
    assert [(e.age, e.slot) for e in made.admit(0)] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert made.admit(0) == []
    assert made.remove(made.running[1]) == 1
    assert [(e.age, e.slot) for e in made.admit(0)] == [(4, 1)]
    assert ages(made.waiting) == [5]


def test_equal_need_goes_by_priority_then_age() -> None:
    made = batcher(entry(1), entry(2, priority=3), entry(3, priority=3), entry(4, priority=-1))
    assert ages(made.in_order(made.waiting, 0)) == [2, 3, 1, 4]


def test_who_has_heard_nothing_goes_before_who_has() -> None:
    first, second = entry(1), entry(2)
    made = batcher(first, second)
    made.sent(first, 1.0, 0.0)
    assert ages(made.in_order(made.waiting, 0.0)) == [2, 1]


def test_whose_sound_runs_out_next_goes_first() -> None:
    a, b, c = entry(1), entry(2), entry(3)
    made = batcher(a, b, c)
    made.sent(a, 5.0, 0.0)
    made.sent(b, 1.0, 1.0)
    made.sent(c, 3.0, 0.5)
    assert ages(made.in_order(made.waiting, 1.0)) == [2, 3, 1]


def test_whose_sound_has_run_out_is_as_urgent_as_who_has_heard_nothing() -> None:
    dry, fresh = entry(1), entry(2)
    made = batcher(dry, fresh)
    made.sent(dry, 1.0, 0.0)
    assert ages(made.in_order(made.waiting, 0.5)) == [2, 1]
    assert ages(made.in_order(made.waiting, 1.5)) == [1, 2]


def test_a_listener_who_ran_dry_plays_on_from_the_next_sound() -> None:
    late, other = entry(1), entry(2)
    made = batcher(late, other)
    made.sent(late, 1.0, 0.0)
    made.sent(late, 2.0, 10.0)  # nine seconds of silence, then two of sound: until 12
    made.sent(other, 1.0, 10.0)
    assert ages(made.in_order(made.waiting, 10.5)) == [2, 1]


def test_the_first_utterance_of_each_request_goes_before_anyones_second() -> None:
    made = batcher(
        entry(1, request="a"), entry(2, request="a", index=1), entry(3, request="b"),
        entry(4, request="b", index=1),
    )  # fmt: skip
    assert ages(made.in_order(made.waiting, 0)) == [1, 3, 2, 4]


def test_a_later_utterance_is_needed_when_the_earlier_ones_have_played() -> None:
    first, second, other = entry(1, request="a"), entry(2, request="a", index=1), entry(3)
    made = batcher(first, second, other)
    made.sent(first, 4.0, 0.0)
    made.remove(first)
    made.sent(other, 2.0, 0.0)
    assert ages(made.in_order([second, other], 1.0)) == [3, 2]
    made.sent(other, 3.0, 1.0)
    assert ages(made.in_order([second, other], 1.0)) == [2, 3]


def test_waiting_raises_the_priority() -> None:
    made = batcher(entry(1, since_s=0.0), entry(2, priority=2, since_s=20.0))
    assert ages(made.in_order(made.waiting, 20.0)) == [1, 2]


def test_prompts_are_read_in_chunks_most_needed_first() -> None:
    made = batcher(entry(1, prompt=100), entry(2, prompt=50, priority=1), prefill_tokens=64)
    made.admit(0)
    chunks, decode = made.plan(0)
    assert [(c.slot, c.start, c.stop) for c in chunks] == [(0, 0, 50), (1, 0, 14)]
    assert decode == []
    made.running[0].read, made.running[1].read = 50, 14
    chunks, decode = made.plan(0)
    assert [(c.slot, c.start, c.stop) for c in chunks] == [(1, 14, 78)]
    assert ages(decode) == [2]


def test_who_is_far_ahead_waits_while_somebody_is_urgent() -> None:
    ahead, behind = entry(1), entry(2)
    made = batcher(ahead, behind)
    speaking(made)
    made.sent(ahead, 10.0, 0.0)
    assert ages(made.plan(0.0)[1]) == [2]
    made.sent(behind, 2.0, 0.0)
    assert ages(made.plan(0.0)[1]) == [2, 1]
    assert ages(made.plan(8.0)[1]) == [2, 1]


def test_who_is_far_ahead_gives_way_to_who_is_needed_now() -> None:
    rows = [entry(n) for n in range(3)]
    made = batcher(*rows, slots=3)
    speaking(made)
    made.sent(rows[0], 4.0, 0.0)
    made.sent(rows[1], 2.0, 0.0)
    made.sent(rows[2], 9.0, 0.0)
    assert made.giving_way(0.0) == []
    made.add(entry(3))
    assert ages(made.giving_way(0.0)) == [2]
    made.add(entry(4))
    made.add(entry(5))
    assert ages(made.giving_way(0.0)) == [2, 0]
    for gone in made.giving_way(0.0):
        made.requeue(gone)
    assert ages(made.admit(0.0)) == [3, 4]


def test_nobody_gives_way_while_a_slot_is_free_or_for_who_can_wait() -> None:
    rows = [entry(0), entry(1)]
    made = batcher(*rows, slots=3)
    speaking(made)
    made.sent(rows[0], 9.0, 0.0)
    made.add(entry(2))
    assert made.giving_way(0.0) == []
    speaking(made)
    later = entry(3, request="r0", index=1)
    made.add(later)
    assert made.giving_way(0.0) == []


def test_deadlines_count_while_waiting_and_while_running() -> None:
    made = batcher(entry(1, deadline_s=1.0), entry(2), entry(3, deadline_s=2.0), slots=1)
    made.admit(0)
    assert made.overdue(0.9) == []
    assert ages(made.overdue(1.0)) == [1]
    assert sorted(ages(made.overdue(2.0))) == [1, 3]


def test_lack_of_memory_halves_down_to_one() -> None:
    made = batcher(*(entry(n) for n in range(64)), slots=64)
    limits = []
    speaking(made)
    while victims := made.back_off(0.0):
        for victim in victims:
            made.requeue(victim)
        assert len(made.running) == made.limit
        assert made.admit(0.0) == []
        limits.append(made.limit)
    assert limits == [32, 16, 8, 4, 2, 1]
    assert made.back_offs == 7
    assert ages(made.running) == [0]


def test_the_least_needed_give_way_and_keep_their_age() -> None:
    rows = [entry(n) for n in range(4)]
    made = batcher(*rows)
    speaking(made)
    made.sent(rows[0], 9.0, 0.0)
    made.sent(rows[2], 5.0, 0.0)
    victims = made.back_off(0.0)
    assert ages(victims) == [2, 0]
    rows[0].tokens = 40
    assert made.requeue(rows[0]) == 0
    assert (rows[0].read, rows[0].tokens, rows[0].sent_s, rows[0].slot) == (0, 0, 9.0, None)
    assert made.limit == 2


def test_a_few_that_run_count_not_the_limit() -> None:
    made = batcher(*(entry(n) for n in range(10)), slots=64)
    speaking(made)
    assert len(made.back_off(0.0)) == 5
    assert made.limit == 5


def test_no_room_for_one_more_keeps_those_who_run() -> None:
    made = batcher(*(entry(n) for n in range(5)), slots=8)
    speaking(made)
    made.requeue(made.running[-1])
    made.no_room(0.0)
    assert (made.limit, len(made.running), made.back_offs) == (4, 4, 1)


def test_the_limit_grows_back_after_a_quiet_time() -> None:
    made = batcher(*(entry(n) for n in range(8)), slots=8, recover_s=10.0)
    speaking(made, 100.0)
    for victim in made.back_off(100.0):
        made.requeue(victim)
    assert made.admit(109.9) == []
    assert len(made.admit(110.0)) == 4
    assert made.limit == 8


def test_removing_one_who_waits_frees_no_slot() -> None:
    made = batcher(entry(1), entry(2), slots=1)
    made.admit(0)
    assert made.remove(made.waiting[0]) is None
    assert made.remove(made.running[0]) == 0
    assert (made.waiting, made.running) == ([], [])


def test_two_utterances_under_one_name_do_not_disturb_each_other() -> None:
    twins = [entry(1, request="same"), entry(2, request="same")]
    made = batcher(*twins)
    made.remove(twins[0])
    assert ages(made.admit(0)) == [2]


@dataclass
class Simulation:
    """Runs utterances of given lengths through a batcher; `oom` says in which steps memory ends."""

    made: Batcher
    lengths: dict[int, int]
    oom: set[int] = field(default_factory=set)
    ended: list[int] = field(default_factory=list)
    now_s: float = 0.0

    def run(self, most: int) -> None:
        for step in range(most):
            if not self.made.waiting and not self.made.running:
                return
            self.turn(step)
        raise AssertionError(f"not ended: {ages(self.made.waiting + self.made.running)}")

    def turn(self, step: int) -> None:
        self.now_s += 0.02
        for gone in self.made.giving_way(self.now_s):
            self.made.requeue(gone)
        self.made.admit(self.now_s)
        slots = [e.slot for e in self.made.running]
        assert len(set(slots)) == len(slots) <= self.made.limit
        if step in self.oom and len(self.made.running) > 1:
            for victim in self.made.back_off(self.now_s):
                self.made.requeue(victim)
            return
        chunks, decode = self.made.plan(self.now_s)
        assert chunks or decode
        by_slot = {e.slot: e for e in self.made.running}
        for chunk in chunks:
            assert chunk.start == by_slot[chunk.slot].read
            by_slot[chunk.slot].read = chunk.stop
        for one in decode:
            self.draw(one)

    def draw(self, one: Entry) -> None:
        one.tokens += 1
        heard = round(one.sent_s / 0.0213)
        if one.tokens > heard and one.tokens % 12 == 0:
            self.made.sent(one, 12 * 0.0213, self.now_s)
        if one.tokens >= self.lengths[one.age]:
            self.made.remove(one)
            self.ended.append(one.age)


REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 5),  # request
        st.integers(-10, 10),  # priority
        st.integers(1, 90),  # prompt
        st.integers(1, 120),  # tokens
    ),
    min_size=1,
    max_size=24,
)


@settings(max_examples=60, deadline=None)
@given(REQUESTS, st.integers(1, 6), st.sets(st.integers(0, 300), max_size=12))
def test_nobody_starves_and_everyone_ends_once(
    requests: list[tuple[int, int, int, int]], slots: int, oom: set[int]
) -> None:
    made = batcher(slots=slots, prefill_tokens=32, recover_s=1.0)
    indices = [itertools.count() for _ in range(6)]
    for age, (request, priority, prompt, _) in enumerate(requests):
        made.add(
            entry(
                age,
                request=f"r{request}",
                index=next(indices[request]),
                priority=priority,
                prompt=prompt,
            )
        )
    run = Simulation(made, {age: tokens for age, (*_, tokens) in enumerate(requests)}, oom)
    run.run(20_000)
    assert sorted(run.ended) == list(range(len(requests)))


def test_a_low_priority_is_served_within_bounds_beside_a_stream_of_high_ones() -> None:
    made = batcher(entry(0, priority=-10), slots=1)
    waited = 0
    for age in range(1, 1000):
        made.add(entry(age, priority=10, since_s=float(age)))
        (admitted,) = made.admit(float(age))
        if admitted.age == 0:
            break
        made.remove(admitted)
        waited += 1
    assert waited <= 110
