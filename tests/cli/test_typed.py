import asyncio
import os
from collections.abc import Iterator

import pytest

from ollama_tts.cli.typed import AHEAD, READ_BYTES, parts

NEVER_S = 1000.0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


async def test_parts_come_as_they_are_written(pipe: tuple[int, int]) -> None:
    read, write = pipe
    async with asyncio.timeout(30):
        typed = parts(read, NEVER_S)
        for text in ("Hello, ", "caf\u00e9.", "\u4f60\u597d\n"):
            os.write(write, text.encode())
            assert await anext(typed) == text
        os.close(write)
        assert [part async for part in typed] == []


async def test_characters_may_be_cut_anywhere(pipe: tuple[int, int]) -> None:
    read, write = pipe
    data = "\ufeffa\u00e9\u4f60\U0001f600".encode() + b"\xff" + b"\xe4\xbd"
    async with asyncio.timeout(30):
        typed = parts(read, NEVER_S)
        reader = asyncio.create_task(collect(typed))
        for byte in data:
            os.write(write, bytes([byte]))
        os.close(write)
        assert await reader == "a\u00e9\u4f60\U0001f600\ufffd\ufffd"


async def collect(typed: object) -> str:
    assert hasattr(typed, "__aiter__")
    return "".join([part async for part in typed])


async def test_a_pause_is_told_once_and_only_after_a_line(pipe: tuple[int, int]) -> None:
    read, write = pipe
    async with asyncio.timeout(30):
        typed = parts(read, 0.01)
        os.write(write, b"a line\n")
        assert await anext(typed) == "a line\n"
        assert await anext(typed) == ""
        waiting = asyncio.ensure_future(anext(typed))
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        assert not done
        os.write(write, b"half a")
        assert await waiting == "half a"
        waiting = asyncio.ensure_future(anext(typed))
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        assert not done
        os.write(write, b" line\n")
        assert await waiting == " line\n"
        os.close(write)
        assert await anext(typed, None) in {"", None}


async def test_a_reader_that_is_slow_holds_the_writer(pipe: tuple[int, int]) -> None:
    read, write = pipe
    data = b"x" * (4 * AHEAD * READ_BYTES)

    def write_all() -> None:
        with os.fdopen(write, "wb") as file:
            file.write(data)

    async with asyncio.timeout(30):
        writer = asyncio.create_task(asyncio.to_thread(write_all))
        typed = parts(read, NEVER_S)
        first = await anext(typed)
        done, _ = await asyncio.wait([writer], timeout=0.2)
        assert not done
        rest = await collect(typed)
        await writer
        assert len(first) + len(rest) == len(data)
