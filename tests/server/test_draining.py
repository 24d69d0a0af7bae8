"""What a door waits for before it closes."""

import asyncio

import pytest

from ollama_tts.server.draining import Draining


async def is_over(draining: Draining) -> bool:
    try:
        async with asyncio.timeout(0):
            await draining.over()
    except TimeoutError:
        return False
    return True


async def test_a_door_at_rest_closes_at_once() -> None:
    draining = Draining()
    assert not await is_over(draining)
    draining.begin()
    assert draining.begun.is_set()
    assert await is_over(draining)


async def test_work_is_waited_for() -> None:
    draining = Draining()
    with draining.work():
        with draining.work():
            draining.begin()
            assert not await is_over(draining)
        assert not await is_over(draining)
    assert await is_over(draining)


async def test_failed_work_is_over_too() -> None:
    draining = Draining()
    with pytest.raises(ZeroDivisionError), draining.work():
        raise ZeroDivisionError
    draining.begin()
    assert await is_over(draining)


async def test_now_and_the_end_of_patience_wait_for_nothing() -> None:
    draining = Draining()
    with draining.work():
        draining.begin()
        draining.begin(now=True)
        assert await is_over(draining)
    impatient = Draining(patience_s=0)
    with impatient.work():
        impatient.begin()
        await impatient.over()
