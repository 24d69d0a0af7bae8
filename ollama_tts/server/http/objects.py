"""The objects of generate and chat: which of the two, their `audio`, their figures."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from ollama_tts.protocol.ollama import Answer, Audio, ChatResponse, GenerateResponse, Message
from ollama_tts.service.events import AudioChunk, SpeechDone, SpeechStarted

_MAX_TEXT_CHARS = 400  # 12 bytes each at worst: a line has room for them beside the sound


def now_text() -> str:
    """Now in RFC 3339, UTC, with nanoseconds, as Ollama's `created_at`."""
    seconds, rest_ns = divmod(time.time_ns(), 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns:09d}Z"


@dataclass(frozen=True, slots=True)
class Shape:
    """Which of the two objects is written: generate's, or chat's. `model` is echoed as sent."""

    model: str
    chat: bool

    def part(self, text: str, audio: Audio, stamp: str) -> Answer:
        """One object of a stream, with some base64 text; `stamp` is when it was made."""
        return self._object(text, audio=audio, stamp=stamp)

    def bare(self, done_reason: str) -> Answer:
        """The single object of a load or an unload."""
        return self._object("", done_reason)

    def last(self, text: str, audio: Audio, done: SpeechDone, written: str = "") -> Answer:
        """The end of an answer, with its figures: all of them, as zero would not be written.

        `written` is what a language model wrote, for `thinking`.
        """
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
        text=part_text(chunk),
    )


def part_text(chunk: AudioChunk) -> str:
    """What a chunk says, as far as a line has room for it."""
    return chunk.text[:_MAX_TEXT_CHARS]


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
