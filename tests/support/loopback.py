"""A server on loopback whose answers can be cut, stalled, spoilt or sent elsewhere.

Subclasses say what there is; this class sends it, by ranges, and carries out faults.
"""

import asyncio
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import uvicorn
from starlette.types import Receive, Scope, Send

PATIENCE_S = 30.0
_CHUNK_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    client: tuple[str, int]


@dataclass(slots=True)
class Answer:
    """What there is to send. `ranged` answers obey the header Range."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    ranged: bool = False


@dataclass(slots=True, eq=False)
class Fault:
    """Spoils the next `times` answers to `method` whose path holds `part` and that get to it.

    `answer` is sent instead; `cut_at` and `stall_at` say after how many bytes of an answer the
    connection breaks or goes silent; `drip_s` is what one byte takes; `from_byte` spares ranges
    that begin before it, `spared` that many requests.
    """

    part: str
    method: str = "GET"
    times: int = 1
    answer: Answer | None = None
    cut_at: int | None = None
    stall_at: int | None = None
    from_byte: int = 0
    spared: int = 0
    drip_s: float = 0.0

    def meets(self, asked: Asked) -> bool:
        if asked.method != self.method or self.part not in asked.path:
            return False
        if self.times <= 0 or start_of(asked) < self.from_byte:
            return False
        self.spared -= 1
        return self.spared < 0


class Loopback:
    """Comes up on a free port of 127.0.0.1, in a thread with a loop of its own."""

    def __init__(self) -> None:
        self.seen: list[Asked] = []
        self.sent: dict[str, int] = {}
        self.faults: list[Fault] = []
        self.ranges = True
        self.stalled = 0
        self._changed = threading.Condition()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._up: Future[None] = Future()
        self._go_on: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        config = uvicorn.Config(
            self._app, log_level="critical", lifespan="off", ws="none", interface="asgi3"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def respond(self, asked: Asked, body: bytes) -> Answer:
        """What there is, before ranges and faults."""
        raise NotImplementedError

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def count(self, part: str, method: str = "GET") -> int:
        """How many requests had this method and this in their path."""
        return sum(part in asked.path and asked.method == method for asked in self.seen)

    def until_stalled(self, count: int) -> None:
        """Return once so many answers stand still."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.stalled >= count, PATIENCE_S)

    def release(self) -> None:
        """Let stalled answers break off, and no more stall."""
        self.faults.clear()
        self._loop.call_soon_threadsafe(self._go_on.set)

    @contextmanager
    def up(self) -> Iterator[Self]:
        self._thread.start()
        self._up.result(PATIENCE_S)
        try:
            yield self
        finally:
            self.release()
            self._server.should_exit = True
            self._server.force_exit = True
            self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if not self._up.done():
                self._up.set_exception(error)
            raise

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._go_on = asyncio.Event()
        self._up.set_result(None)
        await self._server.serve([self._socket])

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        asked = Asked(scope["method"], scope["path"], query, headers, tuple(scope["client"]))
        self.seen.append(asked)
        fault = next((fault for fault in self.faults if fault.meets(asked)), None)
        if fault is not None:
            fault.times -= 1
        if fault is not None and fault.cut_at is not None and asked.method == "PATCH":
            await _body(receive, fault.cut_at)
            return  # uvicorn closes the connection
        body = await _body(receive)
        answer = fault.answer if fault and fault.answer else self.respond(asked, body)
        await self._send(asked, _cut_out(answer, asked) if self.ranges else answer, fault, send)

    async def _send(self, asked: Asked, answer: Answer, fault: Fault | None, send: Send) -> None:
        headers = {"Content-Length": str(len(answer.body)), **answer.headers}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": raw})
        body = b"" if asked.method == "HEAD" else answer.body
        spoilt = fault is not None and (fault.cut_at, fault.stall_at) != (None, None)
        stop = min(len(body), _first(fault)) if spoilt else len(body)
        step = 1 if fault is not None and fault.drip_s else _CHUNK_BYTES
        for at in range(0, stop, step):
            part = body[at : min(at + step, stop)]
            if fault is not None and fault.drip_s:
                await asyncio.sleep(fault.drip_s)
            await send({"type": "http.response.body", "body": part, "more_body": True})
            self.sent[asked.path] = self.sent.get(asked.path, 0) + len(part)
        if fault is not None and fault.stall_at is not None:
            with self._changed:
                self.stalled += 1
                self._changed.notify_all()
            await self._go_on.wait()
        if not spoilt:
            await send({"type": "http.response.body", "body": b""})


async def _body(receive: Receive, stop: int | None = None) -> bytes:
    found = bytearray()
    while stop is None or len(found) < stop:
        message = await receive()
        found += message.get("body", b"")
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            break
    return bytes(found)


def _first(fault: Fault | None) -> int:
    assert fault is not None
    return next(at for at in (fault.cut_at, fault.stall_at) if at is not None)


def start_of(asked: Asked) -> int:
    """The first byte that a request asks for."""
    match = re.match(r"bytes=(\d+)-", asked.headers.get("range", ""))
    return int(match[1]) if match else 0


def _cut_out(answer: Answer, asked: Asked) -> Answer:
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked.headers.get("range", ""))
    if match is None or not answer.ranged or answer.status != 200:
        return answer
    total, start = len(answer.body), int(match[1])
    stop = min(int(match[2]) + 1, total) if match[2] else total
    if start >= total:
        return Answer(416, b"", {"Content-Range": f"bytes */{total}"})
    headers = {**answer.headers, "Content-Range": f"bytes {start}-{stop - 1}/{total}"}
    return Answer(206, answer.body[start:stop], headers)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
