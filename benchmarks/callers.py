"""Callers through every door: a text in, its samples out. Cancelling a call hangs up.

Used by the scripts that load a server through all doors at once (`mixup.py`, `soak.py`).
"""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType

import grpc
import httpx
from websockets.asyncio.client import connect
from wyoming.audio import AudioChunk
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.tts import Synthesize, SynthesizeVoice

from benchmarks.served import Served
from ollama_tts.protocol.pb.tts_pb2 import END, TtsRequest
from ollama_tts.protocol.pb.tts_pb2_grpc import TtsStub

PATIENCE_S = 120.0
_WAV_HEADER_BYTES = 44
Hear = Callable[[str, str], Awaitable[bytes]]


class Refused(Exception):
    """The server answered with an error. `code` is HTTP's, or the nearest to it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Callers:
    """One of each kind of client. Usage: `async with Callers(server) as callers`.

    `callers.doors` maps a door's name to a call `(model, text) -> samples`, signed 16 bit, little
    endian, mono, at the model's own rate. A call raises `Refused` where the server does, and
    what its client raises where the connection breaks.
    """

    def __init__(self, server: Served, options: Mapping[str, object] | None = None) -> None:
        self._server = server
        self._options = {"pause_ms": 0, **(options or {})}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
        self.http = httpx.AsyncClient(
            base_url=server.url, timeout=PATIENCE_S, limits=limits, trust_env=False
        )
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{server.grpc_port}")
        self.doors: dict[str, Hear] = {
            "lines": self.lines,
            "whole chat": self.whole_chat,
            "raw": self.raw,
            "events": self.events,
            "openai": self.openai,
            "synthesize": self.synthesize,
            "array": self.array,
            "websocket": self.websocket,
            "grpc": self.grpc,
            "wyoming": self.wyoming,
        }

    async def __aenter__(self) -> "Callers":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.aclose()
        await self._channel.close()

    async def lines(self, model: str, text: str) -> bytes:
        """POST /api/generate, streamed objects."""
        content = await self._post("/api/generate", self._prompt(model, text))
        lines = [json.loads(line) for line in content.splitlines()]
        if "error" in lines[-1]:
            raise Refused(500, lines[-1]["error"])
        return base64.b64decode("".join(line["response"] for line in lines))

    async def whole_chat(self, model: str, text: str) -> bytes:
        """POST /api/chat, one object."""
        messages = [{"role": "user", "content": text}]
        body = {"model": model, "messages": messages, "stream": False, "options": self._pcm()}
        answer = json.loads(await self._post("/api/chat", body))
        return base64.b64decode(answer["message"]["content"])

    async def raw(self, model: str, text: str) -> bytes:
        """POST /api/generate with `Accept: audio/pcm`."""
        return await self._post("/api/generate", self._prompt(model, text), accept="audio/pcm")

    async def events(self, model: str, text: str) -> bytes:
        """POST /api/generate with `Accept: text/event-stream`."""
        body = self._prompt(model, text)
        content = await self._post("/api/generate", body, accept="text/event-stream")
        frames = content.decode().removesuffix("\n\n").split("\n\n")
        events = [json.loads(frame.removeprefix("data: ")) for frame in frames]
        if "error" in events[-1]:
            raise Refused(500, events[-1]["error"])
        return b"".join(base64.b64decode(event["audio_chunk"]) for event in events)

    async def openai(self, model: str, text: str) -> bytes:
        """POST /v1/audio/speech."""
        body = {"model": model, "input": text, "response_format": "pcm", "options": self._options}
        return await self._post("/v1/audio/speech", body)

    async def synthesize(self, model: str, text: str) -> bytes:
        """POST /synthesize: a WAV file."""
        body = {"model": model, "text": text, "options": self._options}
        return (await self._post("/synthesize", body))[_WAV_HEADER_BYTES:]

    async def array(self, model: str, text: str) -> bytes:
        """POST /generate with an array of two: a WAV file."""
        middle = text.find(" ", len(text) // 2) + 1
        halves = [text[:middle], text[middle:]] if middle and text[middle:].strip() else [text]
        body = [{"model": model, "prompt": half, "options": self._options} for half in halves]
        return (await self._post("/generate", body))[_WAV_HEADER_BYTES:]

    async def websocket(self, model: str, text: str) -> bytes:
        """/api/speak, the text in three pieces."""
        url = f"ws://127.0.0.1:{self._server.http_port}/api/speak"
        third = len(text) // 3 + 1
        pieces = [text[start : start + third] for start in range(0, len(text), third)]
        start = {"type": "start", "model": model, "options": self._pcm()}
        frames = [start, *({"type": "text", "text": piece} for piece in pieces), {"type": "end"}]
        sound = b""
        async with connect(url, max_size=None, proxy=None, open_timeout=PATIENCE_S) as socket:
            for frame in frames:
                await socket.send(json.dumps(frame))
            async for received in socket:
                if isinstance(received, bytes):
                    sound += received
                    continue
                told = json.loads(received)
                if told["type"] == "error":
                    raise Refused(int(told.get("status", 500)), told["error"])
                if told["type"] == "done":
                    return sound
        raise Refused(500, "the socket closed before the turn was done")

    async def grpc(self, model: str, text: str) -> bytes:
        """Tts.Synthesize, samples."""
        stub = TtsStub(self._channel)  # type: ignore[no-untyped-call]  # made by protoc
        options = {name: str(value).lower() for name, value in self._pcm().items()}
        request = TtsRequest(model=model, text=text, control=END, options=options)
        call = stub.Synthesize(iter([request]), timeout=PATIENCE_S)
        sound = b""
        try:
            async for response in call:
                sound += response.pcm
        except grpc.aio.AioRpcError as error:
            raise Refused(_http_code(error.code()), error.details() or "") from error
        finally:
            call.cancel()
        return sound

    async def wyoming(self, model: str, text: str) -> bytes:
        """A Wyoming `synthesize` event."""
        client = AsyncTcpClient("127.0.0.1", self._server.wyoming_port, read_timeout=PATIENCE_S)
        await client.connect()
        sound = b""
        try:
            voice = SynthesizeVoice(name=model)
            await client.write_event(Synthesize(text=text, voice=voice).event())
            while (event := await client.read_event()) is not None:
                if AudioChunk.is_type(event.type):
                    sound += AudioChunk.from_event(event).audio
                elif Error.is_type(event.type):
                    raise Refused(500, Error.from_event(event).text)
                elif event.type == "audio-stop":
                    return sound
        finally:
            await client.disconnect()
        raise Refused(500, "the connection ended before audio-stop")

    def _pcm(self) -> dict[str, object]:
        return {"audio_format": "pcm", **self._options}

    def _prompt(self, model: str, text: str) -> dict[str, object]:
        return {"model": model, "prompt": text, "options": self._pcm()}

    async def _post(self, path: str, body: object, accept: str = "*/*") -> bytes:
        answer = await self.http.post(path, json=body, headers={"Accept": accept})
        if not answer.is_success:
            raise Refused(answer.status_code, answer.text)
        return answer.content


def _http_code(code: grpc.StatusCode) -> int:
    known = {
        grpc.StatusCode.INVALID_ARGUMENT: 400,
        grpc.StatusCode.NOT_FOUND: 404,
        grpc.StatusCode.RESOURCE_EXHAUSTED: 503,
        grpc.StatusCode.UNAVAILABLE: 503,
        grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    }
    return known.get(code, 500)
