import asyncio
import time

import pytest

from ollama_tts.errors import DeadlineExceeded
from ollama_tts.service.deadline import Deadline


async def test_without_a_deadline_work_takes_its_time() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert await Deadline.after(time.monotonic(), None).wait(work()) == 7


async def test_work_beyond_the_deadline_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(DeadlineExceeded, match="deadline_ms"):
        await Deadline.after(time.monotonic(), 1).wait(work())
    assert cancelled.is_set()


async def test_a_deadline_that_has_passed_ends_at_once() -> None:
    with pytest.raises(DeadlineExceeded):
        await Deadline.after(time.monotonic() - 5, 1).wait(asyncio.Event().wait())


async def test_work_that_is_always_ready_does_not_outlive_the_deadline() -> None:
    async def ready() -> int:
        return 1

    assert await Deadline(time.monotonic() + 60).wait(ready()) == 1
    with pytest.raises(DeadlineExceeded):
        await Deadline(time.monotonic()).wait(ready())
