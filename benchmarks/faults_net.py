"""Callers who do harm with little: slow, idle, half gone, and too many. The server must go on.

    python -m benchmarks.faults_net [--connections 500]

A server of its own, all doors open. After each fault it must answer as before, and hold no more
open files than before.

slow loris    headers a byte at a time: all are cut off within the header's time, others are served
idle          connections that say nothing, on both doors of our own: served meanwhile, then gone
half open     callers who close their sending side while they are spoken to: their places fall free
kept alive    the kernel watches each connection for a peer that vanished (its timer is read)
no files      the server's limit of open files is used up: it must go on once some are free again
"""

import argparse
import asyncio
import json
import resource
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.gauges import HELD, values
from benchmarks.served import Served, served

PATIENCE_S = 60.0
HEAD = b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\n"
KEEPALIVE_TIMER = "02"
_SPARE_FILES = 24


@dataclass
class Report:
    """What each fault showed: figures by name, and what should not have been."""

    figures: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def expect(self, true: object, what: str) -> None:
        """Write down what is not as it should be."""
        if not true:
            self.wrong.append(what)


@asynccontextmanager
async def connections(port: int, count: int) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """So many connections, opened in groups; closed at the end."""
    writers: list[asyncio.StreamWriter] = []
    try:
        for _ in range(0, count, 50):
            opening = [asyncio.open_connection("127.0.0.1", port) for _ in range(50)]
            writers += [writer for _, writer in await asyncio.gather(*opening)]
        yield writers
    finally:
        for writer in writers:
            writer.transport.abort()


async def answers_s(server: Served, count: int = 10) -> float:
    """Median seconds of a short spoken answer, each on a connection of its own."""
    took = []
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
        for _ in range(count):
            began_s = time.perf_counter()
            body = {"model": "tone", "prompt": "Hi.", "stream": False}
            answer = await client.post(
                f"{server.url}/api/generate", json=body, headers={"Connection": "close"}
            )
            answer.raise_for_status()
            took.append(time.perf_counter() - began_s)
    return statistics.median(took)


async def until(true: Callable[[], bool]) -> float:
    """Seconds until something is true; infinite where it never is."""
    began_s = time.monotonic()
    while not true():
        if time.monotonic() - began_s > PATIENCE_S:
            return float("inf")
        await asyncio.sleep(0.05)
    return time.monotonic() - began_s


async def slow_loris(server: Served, report: Report, count: int) -> None:
    """Headers that trickle."""
    async with connections(server.http_port, count) as writers:
        for writer in writers:
            writer.write(HEAD)
        trickling = asyncio.create_task(_trickle(writers))
        report.figures["served meanwhile, s"] = await answers_s(server)
        gone_s = await until(lambda: all(writer.is_closing() for writer in writers))
        report.figures["slow loris cut off after, s"] = gone_s
        report.expect(gone_s < PATIENCE_S, "slow loris: connections stayed")
        await trickling


async def _trickle(writers: list[asyncio.StreamWriter]) -> None:
    while not all(writer.is_closing() for writer in writers):
        for writer in writers:
            if not writer.is_closing():
                writer.write(b"x")
        await asyncio.sleep(0.5)


async def idle(server: Served, report: Report, count: int) -> None:
    """Connections that say nothing."""
    before, memory = await answers_s(server), server.resident_bytes()
    async with connections(server.http_port, count), connections(server.wyoming_port, count):
        taken_s = await until(lambda: server.descriptors() >= 2 * count)
        report.expect(taken_s < PATIENCE_S, "idle: not all connections were taken")
        report.figures["answer beside idle ones, ratio"] = await answers_s(server) / before
        each_bytes = (server.resident_bytes() - memory) / (2 * count)
        report.figures["memory of an idle one, KiB"] = each_bytes / 1024
        watched = keepalive_timers(server.http_port)
        report.expect(watched >= count // 2, f"the kernel watches only {watched} connections")


def keepalive_timers(port: int) -> int:
    """How many established connections to a local port have the kernel's keep-alive timer on."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = [row for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"]
    return sum(row[5].startswith(KEEPALIVE_TIMER) for row in ours)


async def half_open(server: Served, report: Report, count: int) -> None:
    """Callers who close one side while they are spoken to."""
    text = "Many words of a text that takes long. " * 50
    body = json.dumps({"model": "tone", "prompt": text, "options": {"tone_rate": 1.0}}).encode()
    async with connections(server.http_port, count) as writers:
        for writer in writers:
            writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await until(lambda: active(server) > 0)
        for writer in writers:
            if writer.can_write_eof():
                writer.write_eof()
        free_s = await until(lambda: active(server) == 0)
        report.figures["half open: all places free after, s"] = free_s
        report.expect(free_s < PATIENCE_S, "half open: places are held")


def active(server: Served) -> float:
    """Requests that speak or wait, as the server counts them."""
    told = values(httpx.get(f"{server.url}/metrics", trust_env=False).text)
    return sum(told[name] for name in HELD)


async def no_files(server: Served, report: Report, count: int) -> None:
    """More connections than the server may have files."""
    limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    few = server.descriptors() + _SPARE_FILES
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as known:
        (await known.get(f"{server.url}/api/version")).raise_for_status()
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (few, limits[1]))
        try:
            async with connections(server.http_port, count):
                await until(lambda: server.descriptors() >= few - 1)
                told = await known.get(f"{server.url}/api/version")
                report.expect(told.is_success, "no files: a caller who was there is not served")
            began_s = time.perf_counter()
            await answers_s(server, 1)
            report.figures["served after files are free, s"] = time.perf_counter() - began_s
        finally:
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
    report.expect(server.process.poll() is None, "no files: the server has ended")


FAULTS: tuple[Callable[[Served, Report, int], Awaitable[None]], ...] = (
    slow_loris,
    idle,
    half_open,
    no_files,
)


async def all_faults(server: Served, count: int) -> Report:
    """One after another, on one server; `count` connections each."""
    report = Report()
    report.figures["answer before, s"] = await answers_s(server)
    at_rest = server.descriptors()
    for fault in FAULTS:
        await fault(server, report, count)
        await answers_s(server, 2)
        left_s = await until(lambda: server.descriptors() <= at_rest + 5)
        report.expect(left_s < PATIENCE_S, f"{fault.__name__}: files stay open")
    report.figures["answer after, s"] = await answers_s(server)
    return report


def measured(folder: Path, count: int) -> Report:
    """All faults on a server with its store in `folder`."""
    with served(folder) as server:
        return asyncio.run(all_faults(server, count))


def main() -> int:
    """Measure and print; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description="Callers who do harm with little.")
    parser.add_argument("--connections", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measured(Path(folder), arguments.connections)
    for name, value in report.figures.items():
        print(f"{name:40} {value:10.3f}")
    for what in report.wrong:
        print(f"WRONG: {what}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
