import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from ollama_tts.cache.flights import Flights


class Voice:
    """Counts how often it speaks; waits for `go` before each piece."""

    def __init__(self, *, error: Exception | None = None) -> None:
        self.spoken = 0
        self.closed = 0
        self.go = asyncio.Semaphore(0)
        self.error = error

    async def speak(self) -> AsyncGenerator[int, None]:
        self.spoken += 1
        try:
            for piece in range(3):
                await self.go.acquire()
                yield piece
            if self.error is not None:
                raise self.error
        finally:
            self.closed += 1


async def heard(flights: Flights[int], voice: Voice, landed: list[list[int]]) -> list[int]:
    async with aclosing(flights.join("k", voice.speak, landed.append)) as pieces:
        return [piece async for piece in pieces]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_equals_are_spoken_once_and_all_hear_everything() -> None:
    flights: Flights[int] = Flights()
    voice = Voice()
    landed: list[list[int]] = []
    first = asyncio.create_task(heard(flights, voice, landed))
    voice.go.release()
    await settle()
    late = asyncio.create_task(heard(flights, voice, landed))
    await settle()
    assert "k" in flights
    voice.go.release()
    voice.go.release()
    assert await first == [0, 1, 2]
    assert await late == [0, 1, 2]
    assert voice.spoken == 1
    assert landed == [[0, 1, 2]]
    assert "k" not in flights


async def test_the_leaders_leaving_costs_the_followers_nothing() -> None:
    flights: Flights[int] = Flights()
    voice = Voice()
    leader = asyncio.create_task(heard(flights, voice, []))
    await settle()
    follower = asyncio.create_task(heard(flights, voice, []))
    await settle()
    leader.cancel()
    await settle()
    for _ in range(3):
        voice.go.release()
    assert await follower == [0, 1, 2]
    assert voice.spoken == 1


async def test_when_the_last_listener_leaves_the_speaking_stops_and_nothing_lands() -> None:
    flights: Flights[int] = Flights()
    voice = Voice()
    landed: list[list[int]] = []
    only = asyncio.create_task(heard(flights, voice, landed))
    voice.go.release()
    await settle()
    only.cancel()
    await settle()
    assert voice.closed == 1
    assert landed == []
    assert "k" not in flights


async def test_a_failure_reaches_every_listener_and_nothing_lands() -> None:
    flights: Flights[int] = Flights()
    voice = Voice(error=RuntimeError("no sound"))
    landed: list[list[int]] = []
    tasks = [asyncio.create_task(heard(flights, voice, landed)) for _ in range(2)]
    for _ in range(3):
        voice.go.release()
    for task in tasks:
        with pytest.raises(RuntimeError, match="no sound"):
            await task
    assert landed == []
