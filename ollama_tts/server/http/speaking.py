"""Speech events as the bytes of an answer: NDJSON lines, server-sent events, or the file itself."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

from pybase64 import b64encode
from starlette.responses import Response

from ollama_tts.audio.lines import LINE_BYTES, Base64Lines
from ollama_tts.protocol.codec import encode, encode_line
from ollama_tts.server.http.lines import LineForm
from ollama_tts.server.http.objects import Shape, total_audio
from ollama_tts.server.http.reply import NDJSON, SSE, json_reply
from ollama_tts.server.http.stream import Chunks, Head, all_of
from ollama_tts.service.events import AudioChunk, SpeechDone, SpeechEvent, SpeechStarted

Events = AsyncGenerator[SpeechEvent, None]

PIECE_BYTES = LINE_BYTES * 640
"""Sound of one server-sent event: 30,720 bytes, 40,960 characters of base64."""
LARGE_BYTES = 1024 * 1024
"""A whole answer from this size on is written in a thread, so that nobody else waits for it."""


async def opened(events: Events) -> SpeechStarted:
    """The first event of an answer; what fails before it fails here."""
    started = await anext(events)
    assert isinstance(started, SpeechStarted)
    return started


async def ndjson(events: Events, shape: Shape) -> Chunks:
    """One object a line, each far under 48 KiB; the last has `done: true` and the figures.

    What is there at once goes out at once: the lines of one event are one write.
    """
    async with aclosing(events):
        started = await opened(events)
        yield Head(NDJSON)
        form = LineForm(shape, started)
        async for event in events:
            if isinstance(event, AudioChunk):
                yield form.lines(event)
            elif isinstance(event, SpeechDone):
                if rest := form.last_lines(event.duration_s):
                    yield rest
                yield encode_line(shape.last("", total_audio(started, event), event))


_SOUND = b'data: {"audio_chunk":"%b","timestamp":%.6f,"is_final":false}\n\n'


async def sse(events: Events) -> Chunks:
    """Server-sent events: `audio_chunk` in base64, and one last with `is_final: true`."""
    async with aclosing(events):
        started = await opened(events)
        yield Head(SSE)
        async for event in events:
            if isinstance(event, AudioChunk):
                for text in sse_texts(event.data):
                    yield _SOUND % (text, event.start_s)
            elif isinstance(event, SpeechDone):
                yield sse_event({"audio_chunk": "", "timestamp": round(event.duration_s, 6),
                                 "is_final": True, "done_reason": event.done_reason,
                                 "audio": total_audio(started, event)})  # fmt: skip


def sse_event(value: object) -> bytes:
    """One server-sent event of JSON data."""
    return b"data: " + encode(value) + b"\n\n"


def sse_error(error_text: str) -> bytes:
    """The event that ends a stream which failed."""
    return sse_event({"error": error_text, "is_final": True})


def sse_texts(data: bytes) -> Iterator[bytes]:
    """Sound as base64, padded, in pieces that fit an event."""
    for start in range(0, len(data), PIECE_BYTES):
        yield b64encode(data[start : start + PIECE_BYTES])


async def raw(events: Events, media_type: str | None = None) -> Chunks:
    """The bytes of the file as they come; `media_type` None is the file's own."""
    async with aclosing(events):
        started = await opened(events)
        yield Head(media_type or started.audio.mime_type)
        async for event in events:
            if isinstance(event, AudioChunk) and event.data:
                yield event.data


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """An answer that is there in full: its one file, and its figures."""

    started: SpeechStarted
    file: bytes
    done: SpeechDone
    written: str = ""


async def whole(events: Events) -> Whole:
    """Wait for the end of an answer."""
    started, *others = await all_of(events)
    *_, done = others
    assert isinstance(started, SpeechStarted)
    assert isinstance(done, SpeechDone)
    chunks = [event for event in others if isinstance(event, AudioChunk)]
    data = b"".join(chunk.data for chunk in chunks)
    return Whole(started, data, done, "".join(chunk.written for chunk in chunks))


async def whole_object(events: Events, shape: Shape) -> Response:
    """One JSON object with the exact file."""
    spoken = await whole(events)
    if len(spoken.file) < LARGE_BYTES:
        return _object_reply(spoken, shape)
    return await asyncio.to_thread(_object_reply, spoken, shape)


def _object_reply(spoken: Whole, shape: Shape) -> Response:
    lines = Base64Lines()
    text = (lines.feed(spoken.file) + lines.finish()).decode("ascii")
    audio = total_audio(spoken.started, spoken.done)
    return json_reply(shape.last(text, audio, spoken.done, spoken.written))


async def whole_file(events: Events, media_type: str | None = None) -> Response:
    """The exact file as the body."""
    spoken = await whole(events)
    return Response(spoken.file, media_type=media_type or spoken.started.audio.mime_type)
