"""kill -9 on the audio cache's disk at random moments: starts clean, nothing half there or lost.

    python benchmarks/cache_kills.py [--kills 60] [--seed 1]

Each round one or two processes keep sounds in one folder, are killed at a random moment, and the
folder is opened anew: every sound whose keeping had been confirmed must be there and be its own,
the index must agree with the files to the byte, and nothing unfinished may be left. Every other
round has a budget so small that sounds are evicted all the time.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ollama_tts.cache.disk import DiskCache

ROOMY_BYTES = 1 << 30
TIGHT_BYTES = 120_000
_LATEST_S = 0.05
_WRITER = """
import random, sys
from pathlib import Path
import numpy as np
from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.sound import Sound
folder, budget, first, step = Path(sys.argv[1]), *map(int, sys.argv[2:])
chance = random.Random(first)
cache = DiskCache(folder, budget)
for number in range(first, 10**9, step):
    samples = np.full(chance.randrange(1, 9000), number % 1000, np.float32)
    cache.put(f"{number:064x}", Sound(samples, number))
    cache.get(f"{chance.randrange(number + 1):064x}")
    print(number, flush=True)
"""


@dataclass(slots=True)
class Tally:
    """What was seen over all rounds."""

    kills: int = 0
    confirmed: int = 0
    unfinished: int = 0
    faults: list[str] = field(default_factory=list)


def kill_often(folder: Path, kills: int, seed: int) -> Tally:
    """Kill writers `kills` times; `faults` says all that was wrong afterwards."""
    chance = random.Random(seed)
    tally = Tally()
    confirmed: set[int] = set()
    for turn in range(kills):
        tight = turn % 2 == 1
        place = folder / ("tight" if tight else "roomy")
        first = 1 + (turn // 2) * 100_000
        writers = chance.choice((1, 1, 2))
        budget = TIGHT_BYTES if tight else ROOMY_BYTES
        said = _run_and_kill(place, budget, range(first, first + writers), chance)
        tally.kills += 1
        tally.confirmed += len(said)
        tally.unfinished += sum(1 for _ in place.glob("??/*.new"))
        if not tight:
            confirmed.update(said)
        latest = said[-1:] if writers == 1 else []  # of two, one may evict the other's
        _check(place, budget, latest if tight else sorted(confirmed), tally)
    return tally


def _run_and_kill(place: Path, budget: int, firsts: range, chance: random.Random) -> list[int]:
    """The numbers that were confirmed, of one writer after the other; one for each of `firsts`."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, *map(str, (place, budget, first, len(firsts)))],
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in firsts
    ]
    said: list[int] = []
    for writer in writers:
        assert writer.stdout is not None
        said.append(int(writer.stdout.readline()))
    time.sleep(chance.uniform(0, _LATEST_S))
    for writer in writers:
        writer.kill()
    for writer in writers:
        assert writer.stdout is not None
        text = writer.stdout.read()
        writer.wait()
        writer.stdout.close()
        said += [int(line) for line in text[: text.rfind("\n") + 1].split()]
    return said


def _check(place: Path, budget: int, numbers: list[int], tally: Tally) -> None:
    cache = DiskCache(place, budget)
    extent = cache.extent
    files = list(place.glob("??/*"))
    size = sum(path.stat().st_size for path in files)
    if (extent.sounds, extent.size_bytes) != (len(files), size):
        tally.faults.append(f"{extent} in the index, {len(files)} files of {size} bytes")
    if size > budget:
        tally.faults.append(f"{size} bytes, more than {budget}")
    if any(path.name.endswith(".new") for path in files):
        tally.faults.append("an unfinished file is left")
    for number in numbers or [int(path.name, 16) for path in files]:
        kept = cache.get(f"{number:064x}")
        if kept is None:
            tally.faults.append(f"{number} was confirmed and is lost")
        elif kept.steps != number or not np.all(kept.samples == number % 1000):
            tally.faults.append(f"{number} is another's")
    cache.close()


def main() -> None:
    """Run, print one line for the figures and one for each fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = kill_often(Path(folder), arguments.kills, arguments.seed)
    print(
        f"{tally.kills} kills, {tally.confirmed} sounds confirmed, "
        f"{tally.unfinished} unfinished files found and removed, {len(tally.faults)} faults"
    )
    for fault in tally.faults:
        print("  ", fault)
    sys.exit(1 if tally.faults else 0)


if __name__ == "__main__":
    main()
