"""Answers that take time: the first item decides, everyone gets a turn, leaving frees the work."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message

from ollama_tts.errors import Busy, Failed
from ollama_tts.server.http.errors import error_line
from ollama_tts.server.http.stream import Chunks, Head, Streaming, all_of, while_connected


class Caller:
    """The other end of an ASGI connection: collects what is sent, and leaves when told to."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


class Work:
    """A stream of chunks that counts what became of it."""

    def __init__(self, chunks: int, error: Exception | None = None) -> None:
        self.chunks = chunks
        self.error = error
        self.made = 0
        self.closed = False
        self.tenth = asyncio.Event()

    async def stream(self) -> Chunks:
        try:
            if self.error is not None and not self.chunks:
                raise self.error
            yield Head("text/plain")
            while self.made < self.chunks:
                self.made += 1
                if self.made == 10:
                    self.tenth.set()
                yield b"x"
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


async def respond(caller: Caller, streaming: Streaming) -> None:
    await streaming({"type": "http"}, caller.receive, caller.send)


async def test_head_chunks_and_end() -> None:
    caller, work = Caller(), Work(3)
    await respond(caller, Streaming(work.stream()))
    start, *_, end = caller.sent
    assert start["status"] == 200
    assert (b"content-type", b"text/plain") in start["headers"]
    assert (b"x-accel-buffering", b"no") in start["headers"]
    assert caller.body == b"xxx"
    assert end == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_an_error_before_the_head_is_raised_and_nothing_is_sent() -> None:
    caller, work = Caller(), Work(0, Busy("full"))
    with pytest.raises(Busy):
        await respond(caller, Streaming(work.stream(), error_line))
    assert caller.sent == []
    assert work.closed


async def test_an_error_after_the_head_is_the_last_line() -> None:
    caller, work = Caller(), Work(2, Failed("broken"))
    await respond(caller, Streaming(work.stream(), error_line))
    assert caller.body == b'xx{"error":"broken"}\n'
    assert caller.sent[-1]["more_body"] is False


async def test_an_error_without_last_words_leaves_the_answer_open() -> None:
    caller, work = Caller(), Work(2, Failed("broken"))
    await respond(caller, Streaming(work.stream()))
    assert caller.body == b"xx"
    assert caller.sent[-1]["more_body"] is True


async def test_a_stream_that_never_suspends_ends_when_its_caller_leaves() -> None:
    caller, work = Caller(), Work(10**9)
    task = asyncio.create_task(respond(caller, Streaming(work.stream())))
    await work.tenth.wait()
    caller.left.set()
    async with asyncio.timeout(10):
        await task
    assert work.closed
    assert work.made < 1000


async def test_others_get_their_turn_between_two_chunks() -> None:
    caller, work = Caller(), Work(100)
    seen: list[int] = []

    async def other() -> None:
        while work.made < 100:
            seen.append(work.made)
            await asyncio.sleep(0)

    await asyncio.gather(respond(caller, Streaming(work.stream())), other())
    assert len(set(seen)) > 90


async def test_work_is_stopped_and_over_when_the_caller_leaves() -> None:
    caller = Caller()
    begun, cleaned = asyncio.Event(), []

    async def work() -> int:
        begun.set()
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    task = asyncio.create_task(while_connected(caller.receive, work()))
    await begun.wait()
    caller.left.set()
    assert await task is None
    assert cleaned == [True]


async def test_work_that_ends_first_gives_its_value_or_its_error() -> None:
    async def value() -> int:
        return 5

    async def error() -> int:
        raise Busy("full")

    assert await while_connected(Caller().receive, value()) == 5
    with pytest.raises(Busy):
        await while_connected(Caller().receive, error())


async def test_a_caller_who_never_reads_is_given_up() -> None:
    caller, work = Caller(), Work(10**9)

    async def full(message: Message) -> None:
        await caller.send(message)
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    streaming = Streaming(work.stream(), error_line, stall_s=0.01)
    await streaming({"type": "http"}, caller.receive, full)
    assert work.closed
    assert caller.body == b"x"
    assert caller.sent[-1]["more_body"] is True


async def test_cancelling_the_response_stops_the_work() -> None:
    caller, work = Caller(), Work(10**9)
    task = asyncio.create_task(respond(caller, Streaming(work.stream())))
    await work.tenth.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert work.closed


async def test_all_of_collects_in_order_and_gives_way() -> None:
    turns = 0

    async def items() -> AsyncGenerator[int, None]:
        for number in range(50):
            yield number

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    assert await all_of(items()) == list(range(50))
    task.cancel()
    assert turns > 40


async def test_an_error_on_the_way_out_is_told_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caller, begun = Caller(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise Failed("the lease is stuck")

    task = asyncio.create_task(while_connected(caller.receive, work()))
    await begun.wait()
    caller.left.set()
    await task
    assert "while stopping: Failed: the lease is stuck" in caplog.messages
