"""Overload: ten times what the server can speak, arriving whether it answers or not.

    python -m benchmarks.overload [--times 10] [--seconds 10] [--json]

A server of its own speaks `tone` paced at real time, so what it can do is known: PLACES answers
of ANSWER_S each. First callers come one at a time (unloaded), then by Poisson at TIMES that rate
for SECONDS, each on a connection of its own (open loop), then one at a time again. It is told:

1. first sound of those admitted, p95, against the unloaded p95 (at most twice)
2. how long the others waited for their 503, p50, p99 and longest (under 50 ms)
3. how many got no answer at all (none)
4. how long after the last arrival a caller has first sound as if nothing had been (under 2 s)

What makes 1 and 2 true is `OLLAMA_TTS_MAX_WAIT`, MAX_WAIT here: without it the queue is as long as
`OLLAMA_MAX_QUEUE` says, and who is admitted waits for all of it (`--max-wait 0` shows it).
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.served import served

PLACES = 4
TEXT = "Ten chars." * 5  # 50 characters of 40 ms, the first piece of five: first sound at 0.2 s
ANSWER_S = 2.0
MAX_WAIT = "45ms"
PATIENCE_S = 60.0
REQUEST = json.dumps(
    {"model": "tone", "prompt": TEXT, "options": {"tone_rate": 1.0, "cache": False}}
).encode()


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of one caller: its status (0: none), and seconds from its start."""

    status: int
    first_s: float
    ended_s: float
    retry_after: bool = False


async def ask(port: int, patience_s: float = PATIENCE_S) -> Answered:
    """One caller on a connection of its own."""
    began_s = time.perf_counter()
    try:
        async with asyncio.timeout(patience_s):
            return await _ask(port, began_s)
    except (TimeoutError, OSError, EOFError):
        return Answered(0, 0.0, time.perf_counter() - began_s)


async def _ask(port: int, began_s: float) -> Answered:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(REQUEST) + REQUEST)
        answer = await reader.readuntil(b"\r\n\r\n")
        status = int(answer.split()[1])
        last, first_s = b"", 0.0
        while data := await reader.read(65536):
            last = last[-2048:] + data
            if not first_s and b'"response":"' in last:
                first_s = time.perf_counter() - began_s
        whole = status != 200 or b'"done":true' in last
        ended_s = time.perf_counter() - began_s
        return Answered(status if whole else 0, first_s, ended_s, b"retry-after:" in answer.lower())
    finally:
        writer.close()


async def one_by_one(port: int, count: int) -> list[Answered]:
    return [await ask(port) for _ in range(count)]


async def flood(port: int, rate_hz: float, seconds: float) -> list[asyncio.Task[Answered]]:
    """Callers by Poisson, who are not waited for."""
    chance = random.Random(1)  # arrivals, nothing secret
    callers: list[asyncio.Task[Answered]] = []
    end_s = time.perf_counter() + seconds
    due_s = time.perf_counter()
    while due_s < end_s:
        await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
        callers.append(asyncio.create_task(ask(port)))
        due_s += chance.expovariate(rate_hz)
    return callers


async def recovery_s(port: int, usual_s: float) -> float:
    """How long until first sound comes as before, asked again and again."""
    began_s = time.perf_counter()
    while True:
        asked_s = time.perf_counter() - began_s
        answer = await ask(port)
        if answer.status == 200 and answer.first_s <= 1.2 * usual_s:
            return asked_s
        if asked_s > PATIENCE_S:
            return float("inf")


def share(values: Sequence[float], part: float) -> float:
    """The quantile `part` of some values; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def measured(
    folder: Path, *, times: float, seconds: float, calm: int, max_wait: str = MAX_WAIT
) -> dict[str, float]:
    """All figures of one run, on a server with its store in `folder`."""
    with served(folder, OLLAMA_NUM_PARALLEL=str(PLACES), OLLAMA_TTS_MAX_WAIT=max_wait) as server:
        return asyncio.run(measure(server.http_port, times, seconds, calm))


async def measure(port: int, times: float, seconds: float, calm: int) -> dict[str, float]:
    """All figures of one run on the server at `port`."""
    await one_by_one(port, 2)
    before = [answer.first_s for answer in await one_by_one(port, calm)]
    rate_hz = times * PLACES / ANSWER_S
    callers = await flood(port, rate_hz, seconds)
    recovered_s = await recovery_s(port, statistics.median(before))
    answers = await asyncio.gather(*callers)
    spoken = [answer.first_s for answer in answers if answer.status == 200]
    refused = [answer.ended_s * 1000 for answer in answers if answer.status == 503]
    return {
        "arrivals": len(answers),
        "spoken": len(spoken),
        "refused": len(refused),
        "lost": sum(answer.status not in {200, 503} for answer in answers),
        "without_retry_after": sum(a.status == 503 and not a.retry_after for a in answers),
        "goodput": len(spoken) * ANSWER_S / PLACES / seconds,
        "unloaded_p95_s": share(before, 0.95),
        "admitted_p50_s": share(spoken, 0.5),
        "admitted_p95_s": share(spoken, 0.95),
        "p95_ratio": share(spoken, 0.95) / share(before, 0.95),
        "refusal_p50_ms": share(refused, 0.5),
        "refusal_p99_ms": share(refused, 0.99),
        "refusal_longest_ms": max(refused, default=0.0),
        "recovery_s": recovered_s,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--calm", type=int, default=20)
    parser.add_argument("--max-wait", default=MAX_WAIT)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(
            Path(folder),
            times=arguments.times,
            seconds=arguments.seconds,
            calm=arguments.calm,
            max_wait=arguments.max_wait,
        )
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:20} {value:10.3f}")


if __name__ == "__main__":
    main()
