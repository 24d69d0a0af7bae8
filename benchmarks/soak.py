"""A server under mixed work for a long time: does it stay as it was?

    python -m benchmarks.soak [--minutes 20] [--clients 12] [--seed 1]

All doors; `tone` (what it said is read back), `hibari` and a small ChatTTS checkpoint; callers who
hang up; requests that must be refused; and beside them models made, spoken and deleted. At the end
nothing may have failed in another way than asked for, no gauge may hold anything, and memory must
not have grown: of the samples of resident memory, the median of the last quarter is compared with
that of the second.
"""

import argparse
import asyncio
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.callers import Callers, Refused
from benchmarks.gauges import gauges
from benchmarks.mixup import RATE_HZ, letters, text_of
from benchmarks.served import Served, served
from ollama_tts import AsyncClient
from tests.support.tone_listener import listen_s16

MINI = Path(__file__).parents[1] / "tests/data/chattts-mini"
MODELS = {"tone": 12, "hibari": 4, "mini": 1}
_LEAVING, _WRONG = 8, 20
_LONG_ENOUGH_S = 0.05
_CACHE_BYTES = "4000000"  # full within seconds, so that it is not what grows


@dataclass
class Account:
    """What was counted: outcomes, what should not have happened, memory over time."""

    counts: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    resident_bytes: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    left_over: dict[str, float] = field(default_factory=dict)

    @property
    def growth(self) -> float:
        """Memory of the last quarter over that of the second, less one."""
        quarter = len(self.resident_bytes) // 4
        early = statistics.median(self.resident_bytes[quarter : 2 * quarter])
        return statistics.median(self.resident_bytes[-quarter:]) / early - 1


class Soak:
    """The work of all tasks, until `until_s` on the monotonic clock."""

    def __init__(self, callers: Callers, client: AsyncClient, until_s: float) -> None:
        self.account = Account()
        self._callers = callers
        self._client = client
        self._until_s = until_s
        self._numbers = 0

    def _going(self) -> bool:
        return time.monotonic() < self._until_s

    async def speak(self, chance: random.Random) -> None:
        """One caller after the other."""
        while self._going():
            self._numbers += 1
            door = chance.choice(list(self._callers.doors))
            try:
                if chance.randrange(_WRONG) == 0:
                    await self._refused(door, chance)
                else:
                    await self._heard(door, text_of(self._numbers, chance), chance)
            except Exception as error:  # noqa: BLE001  # whatever it is, it is told
                self.account.unexpected.append(f"{door}: {type(error).__name__}: {error}")

    async def _heard(self, door: str, text: str, chance: random.Random) -> None:
        model = chance.choices(list(MODELS), list(MODELS.values()))[0]
        call = self._callers.doors[door](model, text)
        if chance.randrange(_LEAVING) == 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(call, chance.expovariate(1 / _LONG_ENOUGH_S))
            self.account.counts["hung up"] += 1
            return
        sound = await call
        self.account.counts[f"heard {model}"] += 1
        if model == "tone" and letters(listen_s16(sound, RATE_HZ)) != letters(text):
            self.account.unexpected.append(f"{door}: {text!r} was heard as something else")
        if len(sound) < RATE_HZ // 10:
            self.account.unexpected.append(f"{door}: {model} said {len(sound)} bytes of {text!r}")

    async def _refused(self, door: str, chance: random.Random) -> None:
        model = chance.choice(["nobody", "tone"])
        text = "Never heard." if model == "nobody" else "\u2026"
        try:
            await self._callers.doors[door](model, text)
        except Refused:
            self.account.counts["refused as it should be"] += 1
        else:
            self.account.unexpected.append(f"{door}: {text!r} on {model} was not refused")

    async def make(self, chance: random.Random) -> None:
        """Models made, spoken and deleted, one after the other."""
        while self._going():
            name = f"made-{chance.randrange(3)}"
            try:
                await self._client.create(
                    name, f"FROM tone\nPARAMETER speed 1.{chance.randrange(9)}"
                )
                await self._callers.lines(name, "Made.")
                await self._client.show(name)
                await self._client.delete(name)
                self.account.counts["made and deleted"] += 1
            except Exception as error:  # noqa: BLE001  # whatever it is, it is told
                self.account.unexpected.append(f"{name}: {type(error).__name__}: {error}")
            await asyncio.sleep(0.2)

    async def watch(self, server: Served) -> None:
        """Memory and open files, once a second."""
        while self._going():
            self.account.resident_bytes.append(server.resident_bytes())
            self.account.descriptors.append(server.descriptors())
            await asyncio.sleep(1)


async def soak(folder: Path, seconds: float, clients: int, seed: int) -> Account:
    """A server of its own under that work; returns the account."""
    with served(folder, OLLAMA_TTS_CACHE_BYTES=_CACHE_BYTES) as server:
        async with Callers(server) as callers, AsyncClient(server.url) as client:
            await client.create("mini", f"FROM {MINI}\nPARAMETER seed 1")
            work = Soak(callers, client, time.monotonic() + seconds)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(work.watch(server))
                tasks.create_task(work.make(random.Random(seed)))
                for index in range(clients):
                    tasks.create_task(work.speak(random.Random(seed * 1000 + index)))
            work.account.left_over = await gauges(callers.http)
            return work.account


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        account = asyncio.run(soak(Path(folder), 60 * asked.minutes, asked.clients, asked.seed))
        said = (Path(folder) / "server.log").read_text().splitlines()
    for what, count in sorted(account.counts.items()):
        print(f"  {what:24} {count}")
    first, last = account.resident_bytes[0], account.resident_bytes[-1]
    print(f"  memory {first >> 20} MiB at first, {last >> 20} MiB at last, "
          f"{account.growth:+.1%} from the second quarter to the last")  # fmt: skip
    print(f"  open files {account.descriptors[0]} at first, {account.descriptors[-1]} at last")
    print(f"  gauges left: {account.left_over or 'none'}; the log's warnings and errors:")
    for number, line in enumerate(said):
        if re.search(r"Z (warn|error)", line):
            print(
                "   ", *said[number : number + 40 if "error" in line else number + 1], sep="\n    "
            )
    print(f"  unexpected: {len(account.unexpected)}")
    for line in account.unexpected[:10]:
        print("   ", line)
    raise SystemExit(bool(account.unexpected or account.left_over))


if __name__ == "__main__":
    main()
