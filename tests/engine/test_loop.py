import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ollama_tts.engine.batcher import Limits
from ollama_tts.engine.loop import Engine
from ollama_tts.engine.speaking import ATTEMPTS
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.errors import DeadlineExceeded, EngineDead, GenerationFailed, OutOfMemory
from ollama_tts.options import SpeechOptions
from tests.support.scripted_model import Call, ScriptedModel, always, job, sound


@contextlib.asynccontextmanager
async def engine(model: ScriptedModel, limits: Limits | None = None) -> AsyncIterator[Engine]:
    """An engine; at the end everything must have been given back."""
    running = Engine(model, limits=limits or Limits(model.slots, recover_s=0.001))
    try:
        yield running
    finally:
        await running.close()
        assert model.left == 0


def utterance(latency: str = "low", **fields: object) -> Utterance:
    asked = Utterance("text", "en", SpeechOptions(latency=latency), seed=0)
    return replace(asked, **fields)  # type: ignore[arg-type]


async def pieces_of(
    running: Engine, seed: int, latency: str = "low", **fields: object
) -> list[Piece]:
    return [p async for p in running.speak(job(seed), utterance(latency, **fields))]


def check(pieces: Sequence[Piece], seed: int, tokens: int) -> None:
    """The pieces are that job's sound, whole, once, in order."""
    assert all(p.samples.dtype == np.float32 for p in pieces)
    whole = np.concatenate([p.samples for p in pieces])
    np.testing.assert_array_equal(whole, sound(seed, tokens * 512 - 256))
    assert sum(p.steps for p in pieces) == tokens
    assert all(p.finish is None for p in pieces[:-1])


@dataclass
class Faults:
    """Raises `error` in the given calls of a kind, counted from 0."""

    plan: dict[tuple[Call, int], Exception]
    counts: dict[Call, int] = field(default_factory=dict)

    def __call__(self, call: Call, seeds: Sequence[int]) -> None:
        number = self.counts.get(call, 0)
        self.counts[call] = number + 1
        if error := self.plan.get((call, number)):
            raise error


class Room:
    """Memory for `rows` rows at once in every call of a kind."""

    def __init__(self, rows: int, calls: Sequence[Call] = ("step",)) -> None:
        self.rows, self.calls = rows, calls

    def __call__(self, call: Call, seeds: Sequence[int]) -> None:
        if call in self.calls and len(seeds) > self.rows:
            raise OutOfMemory("scripted")


@pytest.mark.parametrize("latency", ["low", "balanced", "exact"])
async def test_an_utterance_is_spoken_whole_and_in_order(latency: str) -> None:
    async with engine(ScriptedModel(lengths=always(200))) as running:
        pieces = await pieces_of(running, 7, latency)
    check(pieces, 7, 200)
    assert pieces[-1].finish == "stop"


async def test_many_share_the_model_and_nobody_gets_anothers_sound() -> None:
    model = ScriptedModel(slots=8, lengths=lambda seed, _: 20 + seed % 50)
    async with engine(model) as running:
        every = await asyncio.gather(*(pieces_of(running, seed) for seed in range(40)))
    for seed, pieces in enumerate(every):
        check(pieces, seed, 20 + seed % 50)
    assert 1 < model.most_rows <= 8


async def test_a_length_limit_ends_it() -> None:
    async with engine(ScriptedModel()) as running:
        pieces = [p async for p in running.speak(job(3, max_tokens=21), utterance())]
    check(pieces, 3, 21)
    assert pieces[-1].finish == "length"


async def test_a_text_job_gives_its_ids() -> None:
    async with engine(ScriptedModel(lengths=always(5))) as running:
        assert await running.write(job(1, kind="text"), utterance()) == [0, 1, 2, 3, 4]
        assert await running.write(job(1, kind="text", max_tokens=3), utterance()) == [0, 1, 2]


async def test_a_text_job_may_be_empty() -> None:
    async with engine(ScriptedModel(lengths=always(0))) as running:
        assert await running.write(job(1, kind="text"), utterance()) == []


async def test_ending_at_once_is_tried_again_with_other_numbers() -> None:
    async with engine(ScriptedModel(lengths=lambda _, attempt: 12 * attempt)) as running:
        check(await pieces_of(running, 5), 5, 12)


async def test_ending_at_once_is_tried_a_bounded_number_of_times() -> None:
    model = ScriptedModel(lengths=lambda seed, _: 0 if seed == 5 else 15)
    async with engine(model) as running:
        other = asyncio.create_task(pieces_of(running, 6))
        with pytest.raises(GenerationFailed, match="ended at once"):
            await pieces_of(running, 5)
        check(await other, 6, 15)
    assert model.calls.count("start") == ATTEMPTS + 1


async def test_leaving_frees_the_slot_for_who_waits() -> None:
    async with engine(ScriptedModel(slots=1, lengths=always(10**6))) as running:
        for seed in range(3):
            stream = running.speak(job(seed, max_tokens=10**6), utterance())
            assert len((await anext(stream)).samples) > 0
            await stream.aclose()


async def test_a_cancelled_task_frees_the_slot() -> None:
    model = ScriptedModel(slots=1, lengths=lambda seed, _: 10**6 if seed == 1 else 9)
    async with engine(model) as running:
        endless = asyncio.create_task(pieces_of(running, 1))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(pieces_of(running, 2))
        await asyncio.sleep(0)
        endless.cancel()
        check(await waiting, 2, 9)
        with pytest.raises(asyncio.CancelledError):
            await endless


async def test_leaving_while_waiting_takes_nothing_from_the_others() -> None:
    model = ScriptedModel(slots=1, lengths=always(60))
    async with engine(model) as running:
        first = asyncio.create_task(pieces_of(running, 1))
        waiting = [asyncio.create_task(pieces_of(running, seed)) for seed in (2, 3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        check(await first, 1, 60)
        check(await waiting[1], 3, 60)


async def test_a_row_that_fails_fails_alone() -> None:
    model = ScriptedModel(bad={2: "row", 3: "sound"})
    async with engine(model) as running:
        every = await asyncio.gather(
            *(pieces_of(running, seed) for seed in range(6)), return_exceptions=True
        )
        for seed, result in enumerate(every):
            if seed in model.bad:
                assert isinstance(result, GenerationFailed)
            else:
                assert isinstance(result, list)
                check(result, seed, 30)
        check(await pieces_of(running, 9), 9, 30)


async def test_a_deadline_ends_who_waits_and_who_runs() -> None:
    model = ScriptedModel(slots=1, lengths=always(10**6))
    now_s = [0.0]
    running = Engine(model, clock=lambda: now_s[0])
    first = running.speak(job(1, max_tokens=10**6), utterance(deadline_s=1.0))
    await anext(first)
    second = asyncio.create_task(pieces_of(running, 2, deadline_s=0.5))
    await asyncio.sleep(0)
    now_s[0] = 0.7
    with pytest.raises(DeadlineExceeded):
        await second
    now_s[0] = 1.0
    with pytest.raises(DeadlineExceeded):
        async for _ in first:
            pass
    await running.close()


async def test_one_far_ahead_gives_way_and_loses_nothing() -> None:
    now_s = [0.0]
    model = ScriptedModel(slots=1, lengths=lambda seed, _: 1500 if seed == 1 else 20)
    running = Engine(model, clock=lambda: now_s[0])
    first = running.speak(job(1), utterance())
    heard = [await anext(first)]
    while sum(len(piece.samples) for piece in heard) < 4 * 24_000:
        heard.append(await anext(first))
    check(await pieces_of(running, 2), 2, 20)
    check([*heard, *[piece async for piece in first]], 1, 1500)
    assert model.calls.count("start") == 3
    await running.close()


async def test_little_memory_halves_the_batch_and_everyone_is_served() -> None:
    model = ScriptedModel(slots=16, fault=Room(3))
    told: list[None] = []
    running = Engine(model, limits=Limits(16, recover_s=1e9), on_back_off=lambda: told.append(None))
    every = await asyncio.gather(*(pieces_of(running, seed) for seed in range(20)))
    for seed, pieces in enumerate(every):
        check(pieces, seed, 30)
    assert running.stats.limit == 2
    assert running.stats.back_offs == len(told) > 0
    await running.close()


@pytest.mark.parametrize("call", ["start", "step", "render"])
async def test_no_memory_for_even_one_is_that_ones_failure(call: Call) -> None:
    def fault(made: Call, seeds: Sequence[int]) -> None:
        if made == call and 1 in seeds:
            raise OutOfMemory("scripted")

    async with engine(ScriptedModel(fault=fault)) as running:
        every = await asyncio.gather(
            *(pieces_of(running, seed) for seed in range(4)), return_exceptions=True
        )
        assert isinstance(every[1], OutOfMemory)
        for seed in (0, 2, 3):
            result = every[seed]
            assert isinstance(result, list)
            check(result, seed, 30)


@settings(max_examples=80, deadline=None)
@given(
    st.sets(
        st.tuples(st.sampled_from(["start", "step", "render"]), st.integers(0, 120)), max_size=12
    ),
    st.sampled_from(["low", "balanced", "exact"]),
)
def test_lack_of_memory_at_any_step_changes_no_sound(
    plan: set[tuple[Call, int]], latency: str
) -> None:
    async def scenario() -> None:
        faults = Faults({at: MemoryError() for at in plan})
        model = ScriptedModel(slots=3, lengths=lambda seed, _: 30 + 17 * seed, fault=faults)
        async with engine(model) as running:
            every = await asyncio.gather(
                *(pieces_of(running, seed, latency) for seed in range(5)), return_exceptions=True
            )
        for seed, result in enumerate(every):
            if isinstance(result, BaseException):
                assert isinstance(result, OutOfMemory)
            else:
                check(result, seed, 30 + 17 * seed)

    asyncio.run(scenario())


@pytest.mark.parametrize("call", ["start", "step", "render"])
async def test_a_broken_model_tells_everyone(call: Call) -> None:
    model = ScriptedModel(fault=Faults({(call, 2): RuntimeError("device lost")}))
    running = Engine(model)
    every = await asyncio.gather(
        *(pieces_of(running, seed) for seed in range(6)), return_exceptions=True
    )
    for result in every:
        assert isinstance(result, EngineDead)
        assert "device lost" in str(result)
    with pytest.raises(EngineDead, match="device lost"):
        await pieces_of(running, 9)
    await running.close()
    assert model.left is not None


async def test_closing_ends_those_who_speak_with_a_clear_error() -> None:
    model = ScriptedModel(lengths=always(10**6))
    running = Engine(model)
    stream = running.speak(job(1, max_tokens=10**6), utterance())
    await anext(stream)
    text = asyncio.create_task(running.write(job(2, kind="text", max_tokens=10**6), utterance()))
    await asyncio.sleep(0)
    await running.close()
    with pytest.raises(EngineDead, match="unloaded"):
        async for _ in stream:
            pass
    with pytest.raises(EngineDead, match="unloaded"):
        await text
    with pytest.raises(EngineDead):
        await pieces_of(running, 3)
    await running.close()
    assert model.left is not None


async def test_an_idle_engine_does_nothing() -> None:
    model = ScriptedModel()
    async with engine(model) as running:
        check(await pieces_of(running, 1), 1, 30)
        calls = len(model.calls)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(model.calls) == calls
        assert running.stats.running == running.stats.waiting == 0
        check(await pieces_of(running, 2), 2, 30)


async def test_one_message_a_step_reaches_the_event_loop() -> None:
    model = ScriptedModel(slots=8, lengths=always(100))
    async with engine(model) as running:
        loop = asyncio.get_running_loop()
        original, posts = loop.call_soon_threadsafe, list[int]()

        def counting(callback: object, *args: object, **kwargs: object) -> asyncio.Handle:
            if threading.current_thread().name.startswith("engine-"):
                posts.append(len(model.calls))
            return original(callback, *args, **kwargs)  # type: ignore[arg-type]

        loop.call_soon_threadsafe = counting  # type: ignore[method-assign]
        try:
            await asyncio.gather(*(pieces_of(running, seed) for seed in range(8)))
        finally:
            loop.call_soon_threadsafe = original  # type: ignore[method-assign]
    assert 0 < len(posts) <= model.calls.count("step")
    assert len(set(posts)) == len(posts)


async def test_the_statistics_add_up() -> None:
    async with engine(ScriptedModel(lengths=always(25))) as running:
        await asyncio.gather(*(pieces_of(running, seed) for seed in range(6)))
    assert running.stats.tokens == 6 * 25
    assert (running.stats.running, running.stats.waiting) == (0, 0)
