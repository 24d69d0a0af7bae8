"""Random requests, frames and messages at a live server: no crash, no hang, no 500.

    python -m benchmarks.fuzz [--requests 20000] [--conversations 2000] [--seed 1]

HTTP: random calls of every route, well formed and not (`tests/support/random_requests.py`).
WebSocket and gRPC: conversations of random frames and messages, some of them mere bytes; each must
end, and the same connection or a new one must speak afterwards.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from benchmarks.callers import Callers
from benchmarks.gauges import gauges
from benchmarks.served import Served, served
from ollama_tts.protocol.pb.tts_pb2 import CANCEL, END, FLUSH, NONE, TtsRequest
from tests.support.random_requests import NAMES, ODD, OPTIONS, TEXTS, call

CALLERS = 4
_PATIENCE_S = 60.0
_METHOD = "/ollama_tts.v1.Tts/Synthesize"
_KINDS = ("start", "text", "text", "text", "flush", "cancel", "end", "nothing", "")
FORESEEN = frozenset(
    {
        grpc.StatusCode.OK,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.CANCELLED,
    }
)


@dataclass
class Found:
    """Counted outcomes, and what should not have happened."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def over_http(port: int, requests: int, seed: int, found: Found) -> None:
    """Random requests of four callers, each on its own connection."""
    with ThreadPoolExecutor(CALLERS) as pool:
        share = requests // CALLERS
        calls = [pool.submit(call, port, seed * 1000 + at, share) for at in range(CALLERS)]
        for status, asked in (answer for each in calls for answer in each.result()):
            found.counts[f"http {status}"] += 1
            if status in {500, 502}:
                found.wrong.append(asked)


def frame(draw: random.Random) -> str | bytes:
    """One frame: of a right type with odd fields, JSON of another kind, or no JSON at all."""
    if draw.random() < 0.1:
        odd: list[str | bytes] = [b"", b"\x00\xff", "", "{", "[]", "null", '"x"', "{}", "[" * 3000]
        return draw.choice(odd)
    made: dict[str, object] = {"type": draw.choice(_KINDS)}
    if draw.random() < 0.8:
        made["text"] = draw.choice(TEXTS)
    if made["type"] == "start" or draw.random() < 0.1:
        made["model"] = draw.choice([*NAMES, *ODD])
        made["options"] = options(draw)
    if draw.random() < 0.1:
        made[draw.choice(["client_ts", "system", "keep_alive", "text"])] = draw.choice(ODD)
    return json.dumps(made)


def options(draw: random.Random) -> dict[str, object]:
    """A few options, right and wrong."""
    return {name: draw.choice(OPTIONS[name]) for name in draw.sample(sorted(OPTIONS), 2)}


def written(value: object) -> str:
    """A value as gRPC can carry it."""
    return str(value)[:200].encode("utf-8", "replace").decode()


async def over_websocket(server: Served, draw: random.Random, found: Found) -> None:
    """One conversation of random frames; a turn of `tone` must come through at its end."""
    url = f"ws://127.0.0.1:{server.http_port}/api/speak"
    async with connect(url, max_size=None, proxy=None) as socket:
        try:
            for _ in range(draw.randint(1, 12)):
                await socket.send(frame(draw))
            for kind, fields in (
                ("cancel", {}),
                ("start", {"model": "tone", "options": {"deadline_ms": 0}}),
                ("start", {"model": "tone"}),
                ("text", {"text": "Last words."}),
                ("end", {}),
            ):
                await socket.send(json.dumps({"type": kind, **fields}))
            await last_turn(socket)
            found.counts["websocket ended well"] += 1
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else 1006
            found.counts[f"websocket closed {code}"] += 1
            if code not in {1007, 1008, 1009}:
                found.wrong.append(f"websocket closed with {code}: {closed}")


async def last_turn(socket: ClientConnection) -> None:
    """Read until a turn is done that spoke the last words."""
    said = ""
    while True:
        received = await socket.recv()
        if isinstance(received, bytes):
            continue
        told = json.loads(received)
        if told["type"] == "marks":
            said += told["text"]
        if told["type"] == "done":
            if said.endswith("Last words."):
                return
            said = ""


def message(draw: random.Random) -> bytes:
    """One message: of the right kind with odd fields, or mere bytes."""
    if draw.random() < 0.1:
        return draw.randbytes(draw.randrange(40))
    texts = [text for text in TEXTS if isinstance(text, str)]
    names = [name for name in NAMES if isinstance(name, str)]
    return TtsRequest(
        text=draw.choice(texts),
        client_ts=draw.choice([0, -1, 2**60]),
        model=draw.choice(["", "tone", "tone", *names]),
        options={name: written(value) for name, value in options(draw).items()},
        control=draw.choice([NONE, FLUSH, END, CANCEL]),
        keep_alive=draw.choice(["", "5m", "soon"]),
    ).SerializeToString()


async def over_grpc(server: Served, draw: random.Random, found: Found) -> None:
    """One stream of random messages; it ends with a status that was foreseen."""
    sent = [message(draw) for _ in range(draw.randint(1, 8))]
    code, details = await asyncio.to_thread(status_of, server.grpc_port, sent)
    found.counts[f"grpc {code.name}"] += 1
    if code not in FORESEEN:
        found.wrong.append(f"grpc {code}: {details} after {sent}")


def status_of(port: int, sent: list[bytes]) -> tuple[grpc.StatusCode, str]:
    """How a stream of these messages ended, and the words of it."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        method: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(_METHOD)
        call = method(iter(sent), timeout=_PATIENCE_S / 2)
        with suppress(grpc.RpcError):
            for _ in call:
                pass
        return call.code(), call.details() or ""


Talk = Callable[[Served, random.Random, Found], Awaitable[None]]


async def conversations(server: Served, talk: Talk, seeds: range, found: Found) -> None:
    """A conversation for each seed, eight at a time, each within its patience."""
    numbers = iter(seeds)

    async def worker() -> None:
        for number in numbers:
            try:
                await asyncio.wait_for(talk(server, random.Random(number), found), _PATIENCE_S)
            except TimeoutError:
                found.wrong.append(f"{talk.__name__} of seed {number} hung")

    async with asyncio.TaskGroup() as tasks:
        for _ in range(8):
            tasks.create_task(worker())


async def over_streams(server: Served, seeds: range, found: Found) -> None:
    """WebSocket and gRPC; then the server must speak, and hold nothing."""
    async with Callers(server) as callers:
        for voice in ("tone", "hibari"):  # somebody may have deleted them
            (await callers.http.post("/api/pull", json={"model": voice})).raise_for_status()
        await conversations(server, over_websocket, seeds, found)
        await conversations(server, over_grpc, seeds, found)
        if not await callers.lines("tone", "It still speaks."):
            found.wrong.append("the server does not speak any more")
        if held := await gauges(callers.http):
            found.wrong.append(f"still held: {held}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--conversations", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found, began_s = Found(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        over_http(server.http_port, asked.requests, asked.seed, found)
        first = asked.seed * 1_000_000
        asyncio.run(over_streams(server, range(first, first + asked.conversations), found))
        logged = server.log.read_text().count("Traceback")
    print(f"{time.monotonic() - began_s:.0f} s; tracebacks in the log: {logged}")
    for what, count in sorted(found.counts.items()):
        print(f"  {what:28} {count}")
    print(f"  wrong: {len(found.wrong)}")
    for line in found.wrong[:10]:
        print("   ", line)
    raise SystemExit(bool(found.wrong))


if __name__ == "__main__":
    main()
