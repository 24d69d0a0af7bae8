"""The two sides of a stream beside HTTP: one task reads what comes, one writes what comes of it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import TypeVar

from ollama_tts.server.draining import Draining

T = TypeVar("T")


async def both(read: Coroutine[None, None, None], write: Coroutine[None, None, None]) -> None:
    """Run both sides to their ends; where one fails, the other stops and the failure is raised."""
    sides = asyncio.create_task(read), asyncio.create_task(write)
    try:
        done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in sides:
            task.cancel()
        await asyncio.gather(*sides, return_exceptions=True)


async def until_draining(
    read: Callable[[], Coroutine[None, None, T | None]], draining: Draining
) -> AsyncGenerator[T, None]:
    """What `read` gives, one by one, until it gives None or the door begins to drain."""
    begun = asyncio.create_task(draining.begun.wait())
    try:
        while (item := await _first(asyncio.create_task(read()), begun)) is not None:
            yield item
    finally:
        begun.cancel()


async def _first(reading: asyncio.Task[T | None], begun: "asyncio.Task[bool]") -> T | None:
    """What is read; None where draining begins first."""
    try:
        await asyncio.wait({reading, begun}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        reading.cancel()
    return reading.result() if reading.done() else None
