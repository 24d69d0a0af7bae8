"""WebSocket `/api/speak`: text in as it is written, sound out as it is made.

One task reads frames into a conversation, one writes what comes of it. Whoever closes ends both.
"""

import asyncio
import logging
import time

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from ollama_tts.errors import InvalidRequest, OllamaTTSError
from ollama_tts.node import Node
from ollama_tts.protocol.codec import encode, parse
from ollama_tts.protocol.fields import keep_alive_s
from ollama_tts.protocol.socket import Asked, Cancel, End, FlushNow, Stamp, Start, Text, Told
from ollama_tts.server.default import default_model
from ollama_tts.server.http.asking import client_id_of, client_of
from ollama_tts.server.reasons import text_of
from ollama_tts.service.conversation import (
    Conversation,
    ConversationEvent,
    TurnCancelled,
    TurnFailed,
)
from ollama_tts.service.events import AudioChunk, SpeechDone, SpeechRequest, SpeechStarted

log = logging.getLogger(__name__)

KNOWN = "start, text, flush, cancel, end"


async def speak(socket: WebSocket) -> None:
    """Serve one conversation until the client closes."""
    await socket.accept()
    talk = Talk(socket, socket.app.state.node)
    reading = asyncio.create_task(talk.read())
    writing = asyncio.create_task(talk.write())
    try:
        await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (reading, writing):
            task.cancel()
        await asyncio.gather(reading, writing, return_exceptions=True)


class Talk:
    """One client's conversation on one socket."""

    def __init__(self, socket: WebSocket, node: Node) -> None:
        self._socket = socket
        self._node = node
        self._client_ts: Stamp = None
        self._seq = 0
        self._sending = asyncio.Lock()
        self._client = client_of(socket)
        ask = SpeechRequest(default_model(node), "", client=self._client, surface="socket")
        self._conversation = Conversation(node.turn, ask)

    async def read(self) -> None:
        """Take frames until the client is gone; a bad one is answered and changes nothing."""
        while True:
            try:
                message = await self._socket.receive()
            except (WebSocketDisconnect, RuntimeError):
                return
            if message["type"] == "websocket.disconnect":
                return
            try:
                await self._take(message.get("text"))
            except OllamaTTSError as error:
                await self._tell("error", -1, error=text_of(error))

    async def write(self) -> None:
        """Send what comes of the conversation."""
        async for event in self._conversation.events():
            await self._send(event)

    async def _take(self, text: str | None) -> None:
        if text is None:
            raise InvalidRequest(f"frames are JSON text with a type: {KNOWN}")
        try:
            asked: Asked = msgspec.convert(parse(text.encode("utf-8", "surrogatepass")), Asked)
        except (msgspec.ValidationError, InvalidRequest) as error:
            raise InvalidRequest(
                f"a frame that is not understood: {error} (types: {KNOWN})"
            ) from None
        match asked:
            case Start():
                self._start(asked)
            case Text():
                self._client_ts = asked.client_ts or self._client_ts
                await self._conversation.say(asked.text)
            case FlushNow():
                await self._conversation.flush()
            case Cancel():
                self._conversation.cancel()
            case End():
                await self._conversation.end()

    def _start(self, asked: Start) -> None:
        name = asked.model or default_model(self._node)
        self._node.models.resolve(name)
        self._client_ts = asked.client_ts
        self._conversation.ask = SpeechRequest(
            name,
            "",
            asked.options,
            system=asked.system,
            keep_alive_s=keep_alive_s(asked.keep_alive),
            client=self._client,
            client_id=client_id_of(self._socket.headers),
            surface="socket",
        )

    async def _send(self, event: ConversationEvent) -> None:
        if isinstance(event, TurnCancelled):
            await self._tell("cancelled", event.turn)
        elif isinstance(event, TurnFailed):
            await self._tell("error", event.turn, error=text_of(event.error))
        else:
            await self._speech(event.turn, event.event)

    async def _speech(self, turn: int, event: SpeechStarted | AudioChunk | SpeechDone) -> None:
        match event:
            case SpeechStarted():
                self._seq = 0
                await self._tell(
                    "started",
                    turn,
                    format=event.audio.format,
                    mime_type=event.audio.mime_type,
                    sample_rate=event.audio.sample_rate_hz,
                    channels=event.audio.channels,
                    voice=event.voice,
                    model_digest=event.model_digest,
                )
            case AudioChunk():
                await self._audio(turn, event)
            case SpeechDone():
                await self._tell(
                    "done",
                    turn,
                    duration_s=round(event.duration_s, 6),
                    done_reason=event.done_reason,
                    first_audio_ms=round(event.first_audio_ms, 3),
                    eval_count=event.eval_count,
                )

    async def _audio(self, turn: int, chunk: AudioChunk) -> None:
        start_s, duration_s = round(chunk.start_s, 6), round(chunk.duration_s, 6)
        if chunk.text:
            await self._tell("marks", turn, text=chunk.text, start=chunk.text_start,
                             end=chunk.text_end, start_s=start_s)  # fmt: skip
        if chunk.data:
            await self._tell("audio", turn, data=chunk.data, start_s=start_s,
                             duration_s=duration_s)  # fmt: skip

    async def _tell(self, kind: str, turn: int, *, data: bytes = b"", **fields: object) -> None:
        """Send one frame, and its sound right behind it."""
        told = Told(
            type=kind,
            utterance=turn,
            seq=self._seq,
            server_ts=time.time_ns() // 1000,
            client_ts=self._client_ts,
            **fields,  # type: ignore[arg-type]  # names and types are the struct's
        )
        self._seq += 1
        async with self._sending:
            await self._socket.send_text(encode(told).decode())
            if data:
                await self._socket.send_bytes(data)
        await asyncio.sleep(0)
