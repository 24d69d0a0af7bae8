"""The load of `benchmarks/doors.py`, in a process of its own: clients that only count.

    python benchmarks/doors_load.py DOOR PORT CLIENTS ANSWERS PATH#ACCEPT < request

Each of CLIENTS connections asks for ANSWERS answers, one after the other; the request's body (for
gRPC: the message) comes on standard input. Prints JSON: seconds in all, bytes, and each answer's
seconds to its first byte of sound.
"""

import asyncio
import base64
import json
import os
import sys
import time
from collections.abc import Callable

import grpc

HTTP_END = b"\r\n0\r\n\r\n"
SOCKET_END = b'"type":"done"'
KEPT = 400  # so far from its end an answer's last frame begins at most


class Client(asyncio.Protocol):
    """One connection. Nothing is parsed but where the sound begins and where an answer ends."""

    def __init__(self, door: str, path: str, body: bytes, answers: int) -> None:
        self.door = door
        self.left = answers
        self.firsts: list[float] = []
        self.received = 0
        self.over = asyncio.get_running_loop().create_future()
        self._request = upgrade(path) if door == "websocket" else post(path, body)
        self._frames = frames(body) if door == "websocket" else b""
        self._tail = b""
        self._waiting = door == "websocket"
        self._heard = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)
        self._began = time.perf_counter()

    def data_received(self, data: bytes) -> None:
        if self._waiting:  # for the end of the handshake
            self._waiting = False
            self._ask(self._frames)
            return
        self.received += len(data)
        if not self._heard and self._sounds(data):
            self._heard = True
            self.firsts.append(time.perf_counter() - self._began)
        seen = self._tail + data[-KEPT:]
        self._tail = seen[-KEPT:]
        if seen.endswith(HTTP_END) if self.door != "websocket" else SOCKET_END in seen:
            self._ended()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or ConnectionError("closed before the answer's end"))

    def _sounds(self, data: bytes) -> bool:
        if self.door == "websocket":
            return b'"type":"audio"' in data
        return not data.startswith(b"HTTP/") or not data.endswith(b"\r\n\r\n")

    def _ended(self) -> None:
        self.left -= 1
        if self.left:
            self._ask(self._frames or self._request)
            return
        self.over.set_result(None)
        self._transport.close()

    def _ask(self, request: bytes) -> None:
        self._heard, self._tail = False, b""
        self._began = time.perf_counter()
        self._transport.write(request)


def post(path: str, body: bytes) -> bytes:
    path, _, accept = path.partition("#")
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept or '*/*'}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def upgrade(path: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def frames(body: bytes) -> bytes:
    """Each line of the body as a text frame, masked with zeros."""
    made = b""
    for line in body.splitlines():
        size = len(line)
        head = bytes([0x81, 0x80 | size]) if size < 126 else b"\x81\xfe" + size.to_bytes(2, "big")
        made += head + bytes(4) + line
    return made


async def over_sockets(port: int, clients: int, make: Callable[[], Client]) -> list[Client]:
    loop = asyncio.get_running_loop()
    made = [
        (await loop.create_connection(make, "127.0.0.1", port, proto=6))[1] for _ in range(clients)
    ]
    await asyncio.gather(*(client.over for client in made))
    return made


class RpcClient:
    """One channel's calls, one after the other; messages stay bytes."""

    def __init__(self) -> None:
        self.firsts: list[float] = []
        self.received = 0

    async def run(self, port: int, message: bytes, answers: int) -> None:
        own = (("grpc.use_local_subchannel_pool", 1),)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=own) as channel:
            method = channel.stream_stream("/ollama_tts.v1.Tts/Synthesize")
            for _ in range(answers):
                began = time.perf_counter()
                call = method()
                await call.write(message)
                await call.done_writing()
                heard = False
                while (response := await call.read()) is not grpc.aio.EOF:
                    if not heard:
                        heard = True
                        self.firsts.append(time.perf_counter() - began)
                    self.received += len(response)


async def over_grpc(port: int, clients: int, message: bytes, answers: int) -> list[RpcClient]:
    made = [RpcClient() for _ in range(clients)]
    await asyncio.gather(*(client.run(port, message, answers) for client in made))
    return made


async def main() -> None:
    door, path = sys.argv[1], sys.argv[5]
    port, clients, answers = map(int, sys.argv[2:5])
    body = sys.stdin.buffer.read()
    began = time.perf_counter()
    done: list[Client] | list[RpcClient]
    if door == "grpc":
        done = await over_grpc(port, clients, body, answers)
    else:
        done = await over_sockets(port, clients, lambda: Client(door, path, body, answers))
    took = time.perf_counter() - began
    firsts = [first for client in done for first in client.firsts]
    received = sum(client.received for client in done)
    print(json.dumps({"seconds": took, "bytes": received, "firsts": firsts}))


if __name__ == "__main__":
    asyncio.run(main())
