"""Does everyone hear their own text? Many clients, random doors, some hang up in the middle.

    python -m benchmarks.mixup [--requests 5000] [--clients 64] [--seed 1]

Each request has a text of its own, spoken by `tone`, whose sound can be read back letter by
letter. What came back must be that text and nothing else; one request in eight is given up at a
random moment. Afterwards the server must hold no request any more.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.callers import Callers
from benchmarks.gauges import gauges
from benchmarks.served import served
from tests.support.tone_listener import listen_s16

RATE_HZ = 24_000
_WORDS = (
    *("amber", "birch", "cedar", "delta", "ember", "fjord", "grove"),
    *("heron", "iris", "jolly", "koala", "lemon", "maple", "north"),
)
_LEAVING = 8  # one in so many hangs up


@dataclass
class Tally:
    """What happened: per door how many were heard, how many left, and each text that was wrong."""

    heard: Counter[str] = field(default_factory=Counter)
    left: int = 0
    wrong: list[str] = field(default_factory=list)


def text_of(number: int, chance: random.Random) -> str:
    """A text that no other request has."""
    words = " ".join(chance.choices(_WORDS, k=chance.randint(1, 12)))
    return f"Caller {number} says {words}. That was {number}."


def letters(text: str) -> str:
    """What `tone` says of a text, spaces aside."""
    return text.replace(" ", "")


async def one(callers: Callers, number: int, chance: random.Random, tally: Tally) -> None:
    """One request through a random door, heard to its end or given up."""
    door = chance.choice(list(callers.doors))
    text = text_of(number, chance)
    call = callers.doors[door]("tone", text)
    if chance.randrange(_LEAVING) == 0:
        with suppress(TimeoutError):
            await asyncio.wait_for(call, chance.expovariate(1 / 0.03))
        tally.left += 1
        return
    said = listen_s16(await call, RATE_HZ)
    tally.heard[door] += 1
    if letters(said) != letters(text):
        tally.wrong.append(f"{door}: {text!r} was heard as {said!r}")


async def run(callers: Callers, requests: int, clients: int, seed: int) -> Tally:
    """All requests, `clients` at a time."""
    tally = Tally()
    numbers = iter(range(requests))

    async def client(index: int) -> None:
        chance = random.Random(seed * 1000 + index)
        for number in numbers:
            await one(callers, number, chance, tally)

    async with asyncio.TaskGroup() as tasks:
        for index in range(clients):
            tasks.create_task(client(index))
    return tally


async def mixed(
    folder: Path, requests: int, clients: int, seed: int
) -> tuple[Tally, dict[str, float]]:
    """A server of its own under that load. Returns the tally, and the gauges that are not 0."""
    with served(folder) as server:
        async with Callers(server) as callers:
            tally = await run(callers, requests, clients, seed)
            return tally, await gauges(callers.http)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally, left_over = asyncio.run(
            mixed(Path(folder), asked.requests, asked.clients, asked.seed)
        )
    took_s = time.monotonic() - began_s
    print(f"{asked.requests} requests of {asked.clients} clients in {took_s:.0f} s")
    for door, count in sorted(tally.heard.items()):
        print(f"  {door:12} {count} heard")
    print(f"  {tally.left} hung up; gauges left: {left_over or 'none'}")
    print(f"  heard wrong: {len(tally.wrong)}")
    for line in tally.wrong[:10]:
        print("   ", line)
    raise SystemExit(bool(tally.wrong or left_over))


if __name__ == "__main__":
    main()
