import asyncio
import contextlib

import numpy as np
import pytest

from ollama_tts.engine.stream import Answer, Mailbox, joined
from ollama_tts.engine.utterance import Finish, Piece
from ollama_tts.errors import EngineDead, GenerationFailed


def piece(first: int, count: int, steps: int = 1, finish: Finish | None = None) -> Piece:
    return Piece(np.arange(first, first + count, dtype=np.float32), steps, finish)


async def collected(box: Mailbox) -> list[Piece]:
    return [p async for p in box.pieces()]


async def test_a_late_reader_gets_what_gathered_as_one_piece() -> None:
    box = Mailbox()
    for part in (piece(0, 3, 2), piece(3, 2, 1), piece(5, 4, 3, "length")):
        box.put(part)
    (only,) = await collected(box)
    assert only.samples.tolist() == list(range(9))
    assert (only.steps, only.finish) == (6, "length")


async def test_a_prompt_reader_gets_each_piece() -> None:
    box = Mailbox()
    reading = asyncio.create_task(collected(box))
    await asyncio.sleep(0)
    for part in (piece(0, 3), piece(3, 2), piece(5, 4, finish="stop")):
        box.put(part)
        await asyncio.sleep(0)
    assert [len(p.samples) for p in await reading] == [3, 2, 4]


async def test_a_failure_comes_after_what_was_made_before_it() -> None:
    box = Mailbox()
    box.put(piece(0, 3))
    box.fail(GenerationFailed("broken"))
    pieces = box.pieces()
    assert len((await anext(pieces)).samples) == 3
    with pytest.raises(GenerationFailed, match="broken"):
        await anext(pieces)


async def test_it_ends_once() -> None:
    box = Mailbox()
    box.put(piece(0, 3, finish="stop"))
    box.fail(EngineDead("too late"))
    box.put(piece(3, 3, finish="stop"))
    assert [len(p.samples) for p in await collected(box)] == [3]
    assert not box.leave()


async def test_leaving_calls_work_off_once() -> None:
    box = Mailbox()
    assert box.leave()
    assert not box.leave()
    box.put(piece(0, 3, finish="stop"))
    assert box.ended


def test_one_piece_is_not_copied() -> None:
    only = piece(0, 3)
    assert joined([only]) is only


async def test_an_answer_arrives() -> None:
    box = Answer()
    reading = asyncio.create_task(box.ids())
    await asyncio.sleep(0)
    box.put([1, 2])
    box.fail(EngineDead("too late"))
    box.put([3])
    assert await reading == [1, 2]
    assert not box.leave()


async def test_an_answer_fails() -> None:
    box = Answer()
    box.fail(EngineDead("gone"))
    with pytest.raises(EngineDead):
        await box.ids()


async def test_an_answer_is_called_off_when_its_reader_is_cancelled() -> None:
    box = Answer()
    reading = asyncio.create_task(box.ids())
    await asyncio.sleep(0)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    assert box.leave()


async def test_an_answer_that_nobody_waited_for_fails_in_silence() -> None:
    box = Answer()
    box.fail(EngineDead("gone"))
    assert not box.leave()
