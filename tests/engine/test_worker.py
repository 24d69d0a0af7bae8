"""One thread for many utterances: order, cancel, failure, death; and any schedule."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import aclosing

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.engine.worker import Worker
from ollama_tts.errors import (
    EngineDead,
    GenerationFailed,
    OllamaTTSError,
    OutOfMemory,
    UnspeakableText,
)
from ollama_tts.options import SpeechOptions


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def utterance(text: str, *, index: int = 0, priority: int = 0) -> Utterance:
    return Utterance(text, "en", SpeechOptions(priority=priority), seed=1, index=index)


def piece(value: float, *, last: bool = False) -> Piece:
    return Piece(np.full(4, value, np.float32), 1, "stop" if last else None)


class Voice:
    """Says each character of a text as a piece; the text says what goes wrong.

    `!` fails on purpose, `?` by accident, `M` runs out of memory, `E` loses the device, `~` ends
    without a last piece, `X` kills the thread. With `hold`, the first piece waits for the test.
    """

    def __init__(self, *, hold: bool = False) -> None:
        self.order: list[str] = []
        self.left: list[str] = []
        self.began = threading.Event()
        self.go_on = threading.Event()
        if not hold:
            self.go_on.set()

    def say(self, utterance: Utterance) -> Generator[Piece, None, None]:
        text = utterance.text
        try:
            for place, char in enumerate(text):
                self.began.set()
                assert self.go_on.wait(60)
                self.order.append(f"{text}{place}")
                self._trouble(char)
                if char == "~":
                    return
                yield piece(ord(char), last=place == len(text) - 1)
        finally:
            self.left.append(text)

    def _trouble(self, char: str) -> None:
        trouble: dict[str, Callable[[], BaseException]] = {
            "!": lambda: UnspeakableText("on purpose"),
            "?": lambda: ValueError("by accident"),
            "M": MemoryError,
            "E": lambda: EngineDead("the device is lost"),
            "X": lambda: SystemExit("killed"),
        }
        if char in trouble:
            raise trouble[char]()


async def hear(worker: Worker, what: Utterance) -> str:
    """What was said, as text."""
    return "".join([said(p) async for p in worker.speak(what)])


def said(p: Piece) -> str:
    """The characters of a piece, or of several that came as one."""
    return "".join(chr(int(sample)) for sample in p.samples[::4])


@pytest.fixture
async def voice() -> Voice:
    return Voice()


@pytest.fixture
async def held() -> Voice:
    return Voice(hold=True)


@pytest.fixture
async def worker(voice: Voice) -> AsyncIterator[Worker]:
    made = Worker(voice.say)
    yield made
    await made.close()


async def test_pieces_arrive_in_order_and_the_last_ends_it(worker: Worker) -> None:
    pieces = [p async for p in worker.speak(utterance("abc"))]
    assert "".join(map(said, pieces)) == "abc"
    assert sum(p.steps for p in pieces) == 3
    *earlier, last = [p.finish for p in pieces]
    assert last == "stop"
    assert not any(earlier)
    assert worker.active == 0


async def test_every_utterance_gets_its_own_sound(worker: Worker) -> None:
    texts = [f"utterance {number}" for number in range(20)]
    assert await asyncio.gather(*(hear(worker, utterance(text)) for text in texts)) == texts


async def start_all(worker: Worker, held: Voice, what: list[Utterance]) -> list[str]:
    """Submit in this order while the thread is held at the first; then let all be said."""
    tasks = [asyncio.create_task(hear(worker, one)) for one in what]
    await asyncio.to_thread(held.began.wait, 60)
    held.go_on.set()
    await asyncio.gather(*tasks)
    await worker.close()
    return held.order


async def test_a_request_that_has_heard_nothing_comes_first(held: Voice) -> None:
    order = await start_all(
        Worker(held.say), held, [utterance("aa"), utterance("bb", index=1), utterance("cc")]
    )
    assert order == ["aa0", "cc0", "aa1", "bb0", "bb1", "cc1"]


async def test_then_priority_then_age(held: Voice) -> None:
    order = await start_all(
        Worker(held.say),
        held,
        [
            utterance("aa"),
            utterance("bb", index=1),
            utterance("cc", index=1, priority=3),
            utterance("dd", index=1, priority=3),
        ],
    )
    assert order == ["aa0", "cc0", "cc1", "dd0", "dd1", "aa1", "bb0", "bb1"]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a!", UnspeakableText, "on purpose"),
        ("a?", GenerationFailed, "by accident"),
        ("aM", OutOfMemory, "no memory"),
        ("a~", GenerationFailed, "without its last piece"),
    ],
)
async def test_a_failure_is_that_utterances_own(
    worker: Worker, text: str, error: type[OllamaTTSError], message: str
) -> None:
    good = asyncio.create_task(hear(worker, utterance("fine and long enough")))
    with pytest.raises(error, match=message):
        await hear(worker, utterance(text))
    assert await good == "fine and long enough"


async def test_leaving_frees_the_work_before_the_next_piece(held: Voice) -> None:
    worker = Worker(held.say)
    speaking = asyncio.create_task(hear(worker, utterance("a" * 1000)))
    await asyncio.to_thread(held.began.wait, 60)
    speaking.cancel()
    await asyncio.wait({speaking})
    assert worker.active == 0
    held.go_on.set()
    assert await hear(worker, utterance("b")) == "b"
    assert held.order == ["a" * 1000 + "0", "b0"]
    assert held.left[0] == "a" * 1000
    await worker.close()


async def test_a_failure_after_leaving_is_nothing(held: Voice) -> None:
    worker = Worker(held.say)
    speaking = asyncio.create_task(hear(worker, utterance("!")))
    await asyncio.to_thread(held.began.wait, 60)
    speaking.cancel()
    await asyncio.wait({speaking})
    held.go_on.set()
    assert await hear(worker, utterance("b")) == "b"
    assert speaking.cancelled()
    await worker.close()


async def test_leaving_between_pieces(worker: Worker, voice: Voice) -> None:
    async with aclosing(worker.speak(utterance("abc" * 100))) as pieces:
        async for _ in pieces:
            break
    assert await hear(worker, utterance("b")) == "b"
    assert worker.active == 0
    assert "abc" * 100 in voice.left


async def test_leaving_one_that_never_began(held: Voice) -> None:
    worker = Worker(held.say)
    first = asyncio.create_task(hear(worker, utterance("a")))
    await asyncio.to_thread(held.began.wait, 60)
    second = asyncio.create_task(hear(worker, utterance("never")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait({second})
    held.go_on.set()
    await first
    assert await hear(worker, utterance("b")) == "b"
    assert held.order == ["a0", "b0"]
    await worker.close()


@pytest.mark.parametrize(("text", "message"), [("aE", "the device is lost"), ("aX", "killed")])
async def test_the_death_of_the_thread_reaches_all(worker: Worker, text: str, message: str) -> None:
    others = [asyncio.create_task(hear(worker, utterance("long" * 50_000))) for _ in range(3)]
    with pytest.raises(EngineDead, match=message):
        await hear(worker, utterance(text))
    for other in others:
        with pytest.raises(EngineDead, match=message):
            await other
    with pytest.raises(EngineDead, match=message):
        await hear(worker, utterance("too late"))


async def test_close_joins_the_thread_and_fails_who_speaks(held: Voice) -> None:
    worker = Worker(held.say, name="to-close")
    speaking = asyncio.create_task(hear(worker, utterance("abc")))
    waiting = asyncio.create_task(hear(worker, utterance("def")))
    await asyncio.to_thread(held.began.wait, 60)
    closing = asyncio.create_task(worker.close())
    for task in (speaking, waiting):
        with pytest.raises(EngineDead, match="unloaded"):
            await task
    held.go_on.set()
    await closing
    assert "worker-to-close" not in [thread.name for thread in threading.enumerate()]
    assert held.left == ["abc"]
    await worker.close()
    with pytest.raises(EngineDead, match="unloaded"):
        await hear(worker, utterance("x"))


async def test_close_of_one_that_never_spoke(voice: Voice) -> None:
    await Worker(voice.say).close()
    assert voice.order == []


async def test_a_loop_that_ended_leaves_no_trace(held: Voice) -> None:
    """The thread still speaks when the loop that listened is closed: nothing is raised."""
    worker = Worker(held.say)

    async def begin_and_go() -> None:
        speaking = asyncio.create_task(hear(worker, utterance("abc")))
        await asyncio.to_thread(held.began.wait, 60)
        speaking.cancel()
        await asyncio.wait({speaking})

    await asyncio.to_thread(asyncio.run, begin_and_go())
    held.go_on.set()
    await worker.close()
    assert held.left == ["abc"]


schedule = st.lists(
    st.tuples(
        st.text(alphabet="ab!?M~", min_size=1, max_size=6),
        st.integers(0, 2),  # index
        st.integers(-1, 1),  # priority
        st.one_of(st.none(), st.integers(0, 6)),  # leaves after so many pieces
    ),
    max_size=12,
)


@settings(max_examples=100, deadline=None)
@given(schedule)
def test_every_utterance_ends_in_exactly_one_way(
    plans: list[tuple[str, int, int, int | None]],
) -> None:
    async def one(worker: Worker, plan: tuple[str, int, int, int | None]) -> tuple[str, str]:
        text, index, priority, leave_after = plan
        heard = ""
        what = utterance(text, index=index, priority=priority)
        try:
            async with aclosing(worker.speak(what)) as pieces:
                async for got in pieces:
                    heard += said(got)
                    if leave_after and len(heard) >= leave_after:
                        return heard[:leave_after], "left"
        except OllamaTTSError as error:
            return heard, type(error).__name__
        return heard, "done"

    async def run() -> None:
        voice = Voice()
        worker = Worker(voice.say)
        ends = await asyncio.gather(*(one(worker, plan) for plan in plans))
        assert worker.active == 0
        await worker.close()
        assert sorted(voice.left) == sorted(text for text, _, _, _ in plans)
        for (text, _, _, leave_after), (heard, end) in zip(plans, ends, strict=True):
            assert (heard, end) == expected(text, leave_after)

    asyncio.run(run())


def expected(text: str, leave_after: int | None) -> tuple[str, str]:
    troubles = {"!": "UnspeakableText", "?": "GenerationFailed", "M": "OutOfMemory",
                "~": "GenerationFailed"}  # fmt: skip
    for place, char in enumerate(text):
        if place == leave_after and place > 0:
            return text[:place], "left"
        if char in troubles:
            return text[:place], troubles[char]
    return (text, "left") if len(text) == leave_after else (text, "done")
