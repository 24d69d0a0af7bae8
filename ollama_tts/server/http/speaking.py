"""Speech events as the bytes of an answer: NDJSON lines, server-sent events, or the file itself."""

import asyncio
import time
from binascii import b2a_base64
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from starlette.responses import Response

from ollama_tts.audio.lines import LINE_BYTES, MAX_PIECE_LINES, Base64Lines, split_lines
from ollama_tts.protocol.codec import encode, encode_line
from ollama_tts.protocol.ollama import Answer, Audio, ChatResponse, GenerateResponse, Message
from ollama_tts.server.http.reply import NDJSON, SSE, json_reply
from ollama_tts.server.http.stream import Chunks, Head, all_of
from ollama_tts.service.events import AudioChunk, SpeechDone, SpeechEvent, SpeechStarted

Events = AsyncGenerator[SpeechEvent, None]

PIECE_BYTES = LINE_BYTES * MAX_PIECE_LINES
LARGE_BYTES = 1024 * 1024
"""A whole answer from this size on is written in a thread, so that nobody else waits for it."""
STREAM_LINES = 40
"""Base64 lines of one NDJSON line: 1,920 bytes, 40 ms of 16-bit sound at 24 kHz."""
_MAX_TEXT_CHARS = 400  # 12 bytes each at worst: room in a line of 48 KiB beside the sound
_MAX_WRITTEN_CHARS = 3000  # likewise, of what a language model wrote


def now_text() -> str:
    """Now in RFC 3339, UTC, with nanoseconds, as Ollama's `created_at`."""
    seconds, rest_ns = divmod(time.time_ns(), 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns:09d}Z"


@dataclass(frozen=True, slots=True)
class Shape:
    """Which of the two objects is written: generate's, or chat's. `model` is echoed as sent."""

    model: str
    chat: bool

    def part(self, text: str, audio: Audio, stamp: str, written: str = "") -> Answer:
        """One object of a stream, with some base64 text; `stamp` is when it was made.

        `written` is what a language model wrote, for `thinking`.
        """
        return self._object(text, audio=audio, stamp=stamp, written=written)

    def bare(self, done_reason: str) -> Answer:
        """The single object of a load or an unload."""
        return self._object("", done_reason)

    def last(self, text: str, audio: Audio, done: SpeechDone, written: str = "") -> Answer:
        """The end of an answer, with its figures: all of them, as zero would not be written."""
        return msgspec.structs.replace(
            self._object(text, done.done_reason, audio, written=written),
            total_duration=max(1, done.total_ns),
            load_duration=max(1, done.load_ns),
            prompt_eval_count=done.prompt_eval_count,
            prompt_eval_duration=max(1, done.prompt_eval_ns),
            eval_count=done.eval_count,
            eval_duration=max(1, done.eval_ns),
        )

    def _object(
        self,
        text: str,
        done_reason: str = "",
        audio: Audio | None = None,
        *,
        stamp: str = "",
        written: str = "",
    ) -> Answer:
        stamp, done = stamp or now_text(), bool(done_reason)
        if self.chat:
            message = Message(role="assistant", content=text, thinking=written)
            return ChatResponse(model=self.model, created_at=stamp, message=message, done=done,
                                done_reason=done_reason, audio=audio)  # fmt: skip
        return GenerateResponse(model=self.model, created_at=stamp, response=text, done=done,
                                done_reason=done_reason, audio=audio, thinking=written)  # fmt: skip


def part_audio(started: SpeechStarted, chunk: AudioChunk) -> Audio:
    """`audio` of a chunk."""
    return Audio(
        format=started.audio.format,
        mime_type=started.audio.mime_type,
        sample_rate=started.audio.sample_rate_hz,
        channels=started.audio.channels,
        start_s=round(chunk.start_s, 6),
        duration_s=round(chunk.duration_s, 6),
        text=chunk.text[:_MAX_TEXT_CHARS],
    )


def total_audio(started: SpeechStarted, done: SpeechDone) -> Audio:
    """`audio` of the last object."""
    return Audio(
        format=started.audio.format,
        mime_type=started.audio.mime_type,
        sample_rate=started.audio.sample_rate_hz,
        channels=started.audio.channels,
        duration_s=round(done.duration_s, 6),
        utterances=done.utterances,
        cache_hits=done.cache_hits,
        first_audio_ms=round(done.first_audio_ms, 3),
        voice=done.voice,
        model_digest=done.model_digest,
    )


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
        lines = Base64Lines()
        async for event in events:
            if isinstance(event, AudioChunk):
                audio = part_audio(started, event)
                yield _lines(shape, lines.feed(event.data), audio, event.written)
            elif isinstance(event, SpeechDone):
                if rest := lines.finish():
                    yield _lines(shape, rest, _silent(started, event.duration_s))
                yield encode_line(shape.last("", total_audio(started, event), event))


def _lines(shape: Shape, text: str, audio: Audio, written: str = "") -> bytes:
    """The lines of one chunk; more `written` than fits stands on lines without sound before."""
    stamp = now_text()
    *before, here = _stretches(written)
    silent = msgspec.structs.replace(audio, duration_s=0.0, text="")
    lines = [shape.part("", silent, stamp, each) for each in before]
    for piece, each in _parts(text, audio):
        lines.append(shape.part(piece, each, stamp, here))
        here = ""
    return b"".join(encode_line(line) for line in lines)


def _stretches(written: str) -> list[str]:
    starts = range(0, len(written), _MAX_WRITTEN_CHARS)
    return [written[start : start + _MAX_WRITTEN_CHARS] for start in starts] or [""]


def _parts(text: str, audio: Audio) -> Iterator[tuple[str, Audio]]:
    """Base64 text in pieces that fit a line; what the chunk says stands on the first alone.

    The chunk's time is shared out by the length of the pieces.
    """
    pieces = split_lines(text, STREAM_LINES) or [""]
    assert audio.start_s is not None
    start_s, whole_s, chars = audio.start_s, audio.duration_s, len(text) or 1
    for piece in pieces:
        share_s = whole_s * len(piece) / chars if text else whole_s
        yield (
            piece,
            msgspec.structs.replace(audio, start_s=round(start_s, 6), duration_s=round(share_s, 6)),
        )
        start_s += share_s
        audio.text = ""


def _silent(started: SpeechStarted, at_s: float) -> Audio:
    return part_audio(started, AudioChunk(b"", at_s, 0.0))


async def sse(events: Events) -> Chunks:
    """Server-sent events: `audio_chunk` in base64, and one last with `is_final: true`."""
    async with aclosing(events):
        started = await opened(events)
        yield Head(SSE)
        async for event in events:
            if isinstance(event, AudioChunk):
                for start in range(0, len(event.data), PIECE_BYTES):
                    data = event.data[start : start + PIECE_BYTES]
                    yield sse_event({"audio_chunk": base64_text(data),
                                     "timestamp": round(event.start_s, 6),
                                     "is_final": False})  # fmt: skip
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


def base64_text(data: bytes) -> str:
    """Base64 in one line, padded."""
    return b2a_base64(data, newline=False).decode("ascii")


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
    text = lines.feed(spoken.file) + lines.finish()
    audio = total_audio(spoken.started, spoken.done)
    return json_reply(shape.last(text, audio, spoken.done, spoken.written))


async def whole_file(events: Events, media_type: str | None = None) -> Response:
    """The exact file as the body."""
    spoken = await whole(events)
    return Response(spoken.file, media_type=media_type or spoken.started.audio.mime_type)
