"""Callers who vanish at random moments, through every door: what of them stays?

    python -m benchmarks.vanish [--clients 1000] [--at-once 40] [--seed 1]

Each has a long text, spoken by `tone` at once or at the pace of speech, and hangs up after a time
drawn anew: while it connects, is queued, waits for its first sound, or hears it. Then the gauges
of held work must be at zero, the server must have no more files open than before, and every door
must still say a whole text.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.callers import Callers
from benchmarks.gauges import gauges, values
from benchmarks.mixup import RATE_HZ, letters
from benchmarks.served import Served, served
from ollama_tts import AsyncClient
from tests.support.tone_listener import listen_s16

TEXT = "One of many sentences that hardly anybody hears to its end. " * 60
MODELS = ("tone", "slow")
LAST = "All is well."
_PATIENCE_S = 10.0
_SHARED_DESCRIPTORS = 8  # of the pool's connections, which come and go


@dataclass
class Account:
    """What was counted: per door who vanished, who heard all; what stayed, what went wrong."""

    vanished: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    counted_as_cancelled: float = 0.0
    freed_s: float = 0.0
    descriptors: tuple[int, int] = (0, 0)
    left_over: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


async def vanish(folder: Path, clients: int, at_once: int, seed: int) -> Account:
    """A server of its own and its callers; returns the account."""
    account = Account()
    with served(folder, OLLAMA_NUM_PARALLEL=str(max(1, at_once // 2))) as server:
        async with AsyncClient(server.url) as client:
            await client.create("slow", "FROM tone\nPARAMETER tone_rate 1.0")
        before = await _every_door_speaks(server, account)
        async with Callers(server, {"cache": False}) as callers:
            places = asyncio.Semaphore(at_once)
            await asyncio.gather(
                *(_one(callers, random.Random(f"{seed}-{number}"), places, account)
                  for number in range(clients))
            )  # fmt: skip
            started_s = time.monotonic()
            account.left_over = await gauges(callers.http, _PATIENCE_S)
            account.freed_s = time.monotonic() - started_s
            told = values((await callers.http.get("/metrics")).text)
            account.counted_as_cancelled = told.get("ollama_tts_cancelled_total", 0.0)
        account.descriptors = before, await _every_door_speaks(server, account)
    return account


async def _one(
    callers: Callers, chance: random.Random, places: asyncio.Semaphore, account: Account
) -> None:
    door, model = chance.choice(list(callers.doors)), chance.choice(MODELS)
    async with places:
        call = asyncio.ensure_future(callers.doors[door](model, TEXT))
        await asyncio.wait({call}, timeout=chance.choice((0.02, 0.2, 2.0)) * chance.random())
        if call.done():
            account.finished += 1
            if (error := call.exception()) is not None:
                account.wrong.append(f"{door}: {type(error).__name__}: {error}")
            return
        call.cancel()
        await asyncio.wait({call})
        account.vanished[door] += 1


async def _every_door_speaks(server: Served, account: Account) -> int:
    """Say a text through each door; how many files the server has open once all have hung up."""
    async with Callers(server) as callers:
        for door, hear in callers.doors.items():
            said = letters(listen_s16(await hear("tone", LAST), RATE_HZ))
            if said != letters(LAST):
                account.wrong.append(f"{door}: {LAST!r} was heard as {said!r}")
    until_s = time.monotonic() + _PATIENCE_S
    least = server.descriptors()
    while time.monotonic() < until_s:
        await asyncio.sleep(0.25)
        now = server.descriptors()
        if now == least:
            break
        least = min(least, now)
    return least


def kept(account: Account) -> bool:
    """Whether anything stayed of those who left."""
    before, after = account.descriptors
    return bool(account.left_over or account.wrong or after > before + _SHARED_DESCRIPTORS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        account = asyncio.run(vanish(Path(folder), asked.clients, asked.at_once, asked.seed))
    for door, count in sorted(account.vanished.items()):
        print(f"  {door:12} {count} vanished")
    print(
        f"  {account.finished} heard all; {account.counted_as_cancelled:.0f} counted as cancelled"
    )
    print(f"  gauges left: {account.left_over or 'none'}, {account.freed_s:.2f} s after the last")
    print("  open files {} before, {} after".format(*account.descriptors))
    for line in account.wrong[:10]:
        print("  wrong:", line)
    raise SystemExit(kept(account))


if __name__ == "__main__":
    main()
