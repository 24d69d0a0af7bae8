"""Reading and writing side by side: how they end."""

import asyncio
from contextlib import aclosing

import pytest

from ollama_tts.server.draining import Draining
from ollama_tts.server.sides import both, until_draining


async def test_a_side_that_fails_stops_the_other() -> None:
    stopped = asyncio.Event()

    async def read() -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    async def write() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with pytest.raises(ZeroDivisionError):
        await both(read(), write())
    assert stopped.is_set()


@pytest.mark.parametrize("drained", [False, True])
async def test_reading_ends_with_the_caller_or_the_door(drained: bool) -> None:
    draining = Draining()
    inbox: asyncio.Queue[int | None] = asyncio.Queue()
    for item in (1, 2):
        inbox.put_nowait(item)
    seen = []
    async with aclosing(until_draining(inbox.get, draining)) as items:
        async for item in items:
            seen.append(item)
            if item == 2:
                draining.begin() if drained else inbox.put_nowait(None)
    assert seen == [1, 2]
