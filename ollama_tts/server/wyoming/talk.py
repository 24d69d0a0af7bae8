"""`Talk`: one connection. Events go into a conversation, its sound comes out as events.

`synthesize` is one turn; so is everything from `synthesize-start` to `synthesize-stop`, spoken
while it arrives. Each turn is `audio-start`, `audio-chunk` …, `audio-stop`, and for a stream
`synthesize-stopped`. A failure is `error`, and the end of the connection: clients wait for one of
the two.
"""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import msgspec
from wyoming.audio import AudioChunk as ChunkEvent, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event, Eventable, async_write_event
from wyoming.ping import Pong
from wyoming.tts import SynthesizeStopped

from ollama_tts.errors import Cancelled, InvalidRequest, Unsupported
from ollama_tts.node import Node
from ollama_tts.server.default import default_model
from ollama_tts.server.draining import Draining
from ollama_tts.server.reasons import text_of
from ollama_tts.server.sides import both, until_draining
from ollama_tts.server.wyoming.voices import Wish, choose, info, listed
from ollama_tts.server.wyoming.wire import read_event
from ollama_tts.service.conversation import (
    Conversation,
    ConversationEvent,
    TurnCancelled,
    TurnFailed,
)
from ollama_tts.service.events import (
    AudioChunk,
    AudioFormat,
    SpeechDone,
    SpeechEvent,
    SpeechRequest,
    SpeechStarted,
)

CHUNK_BYTES = 4096
STALL_S = 300.0
"""How long a client may leave sound unread before its work is given up."""

_WIDTH_BYTES = 2


class _Voice(msgspec.Struct):
    name: str | None = None
    language: str | None = None
    speaker: str | None = None


class _Synthesize(msgspec.Struct):
    text: str = ""
    voice: _Voice | None = None
    text_format: str | None = None


class Talk:
    """One client's connection."""

    def __init__(
        self,
        node: Node,
        draining: Draining,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._node = node
        self._draining = draining
        self._reader = reader
        self._writer = writer
        self._client = str(writer.get_extra_info("peername", ("",))[0])
        self._conversation = Conversation(node.turn, SpeechRequest("", ""))
        self._streaming = False
        self._turn: int | None = None
        self._streamed: dict[int, bool] = {}
        self._audio = AudioFormat("pcm", "", 0)
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Serve the connection until the server drains.

        Raises:
            EOFError, OSError: The client left.
            OllamaTTSError: Something failed; `fail` tells the client.
        """
        await both(self._read(), self._write())

    async def _read(self) -> None:
        """Take events until the server drains.

        Raises:
            EOFError: The client left.
        """
        async with aclosing(until_draining(self._next, self._draining)) as events:
            async for event in events:
                await self._take(event)
        await self._conversation.end()
        self._conversation.close()

    async def _next(self) -> Event:
        event = await read_event(self._reader)
        if event is None:
            raise EOFError("the client left")
        return event

    async def _take(self, event: Event) -> None:
        match event.type:
            case "describe":
                await self._send(info(await listed(self._node)))
            case "ping":
                await self._send(Pong(text=str(event.data.get("text") or "")))
            case "synthesize" if not self._streaming:  # in a stream it repeats the chunks
                await self._begin(_asked(event))
                await self._say(_asked(event).text)
                await self._end()
            case "synthesize-start":
                await self._begin(_asked(event))
                self._streaming = True
            case "synthesize-chunk" if self._streaming:
                await self._say(_asked(event).text)
            case "synthesize-stop" if self._streaming:
                await self._end()

    async def _begin(self, asked: _Synthesize) -> None:
        """A turn begins: decide what it is spoken with."""
        if self._streaming:
            raise InvalidRequest("synthesize-start within a stream; send synthesize-stop first")
        if asked.text_format not in {None, "text"}:
            raise Unsupported(f"text_format {asked.text_format!r} must be 'text'")
        voice = asked.voice or _Voice()
        wish = Wish(voice.name or "", voice.language or "", voice.speaker or "")
        chosen = choose(await listed(self._node), default_model(self._node), wish)
        self._conversation.ask = SpeechRequest(
            chosen.model,
            "",
            {**chosen.options, "audio_format": "pcm"},
            client=self._client,
            surface="wyoming",
        )
        self._turn = None

    async def _say(self, text: str) -> None:
        turn = await self._conversation.say(text)
        if turn is not None:
            self._turn = turn
            self._streamed[turn] = self._streaming

    async def _end(self) -> None:
        self._streaming = False
        if self._turn is None:
            raise InvalidRequest("there was no text to synthesize")
        await self._conversation.end()

    async def _write(self) -> None:
        async with aclosing(self._conversation.events()) as events:
            async for event in events:
                await self._speak(event)

    async def _speak(self, event: ConversationEvent) -> None:
        if isinstance(event, TurnCancelled):
            return
        if isinstance(event, TurnFailed):
            raise event.error
        for told in self._events(event.turn, event.event):
            await self._send(told)

    def _events(self, turn: int, event: SpeechEvent) -> Iterator[Eventable]:
        match event:
            case SpeechStarted():
                self._audio = event.audio
                yield AudioStart(event.audio.sample_rate_hz, _WIDTH_BYTES, 1, timestamp=0)
            case AudioChunk():
                yield from self._chunks(event)
            case SpeechDone():
                yield AudioStop(timestamp=round(event.duration_s * 1000))
                if self._streamed.pop(turn):
                    yield SynthesizeStopped()

    def _chunks(self, chunk: AudioChunk) -> Iterator[ChunkEvent]:
        rate_hz = self._audio.sample_rate_hz
        for start in range(0, len(chunk.data), CHUNK_BYTES):
            at_s = chunk.start_s + start / _WIDTH_BYTES / rate_hz
            data = chunk.data[start : start + CHUNK_BYTES]
            yield ChunkEvent(rate_hz, _WIDTH_BYTES, 1, data, timestamp=round(at_s * 1000))

    async def fail(self, error: Exception) -> None:
        """Tell the client why its connection ends."""
        await self._send(Error(text=text_of(error), code=type(error).__name__))

    async def _send(self, told: Eventable) -> None:
        try:
            async with asyncio.timeout(STALL_S), self._sending:
                await async_write_event(told.event(), self._writer)
        except TimeoutError:
            raise Cancelled("the sound is not read; the connection is given up") from None
        await asyncio.sleep(0)


def _asked(event: Event) -> _Synthesize:
    try:
        return msgspec.convert(event.data, _Synthesize)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{event.type}: {error}") from None
