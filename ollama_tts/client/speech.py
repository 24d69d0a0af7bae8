"""What comes back when a text is spoken, and how it is read from the wire."""

import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from ollama_tts.client.call import Call, decode
from ollama_tts.errors import BatchFailed, GenerationFailed, OllamaTTSError
from ollama_tts.protocol.ollama import Wire


@dataclass(frozen=True, slots=True, eq=False)
class SpeechChunk:
    """Some bytes of the answer's one file, in order.

    `start_s` and `duration_s` place the sound behind them; `text` is what of the input begins to
    sound here, once per utterance.
    """

    data: bytes
    mime_type: str = ""
    sample_rate_hz: int = 0
    start_s: float = 0.0
    duration_s: float = 0.0
    text: str = ""


@dataclass(frozen=True, slots=True)
class SpeechEnd:
    """The figures of a whole answer; durations in ns unless the name says otherwise.

    `eval_count` counts codec steps, or frames of 20 ms for voices without a codec.
    """

    done_reason: str
    mime_type: str
    sample_rate_hz: int
    duration_s: float
    utterances: int
    cache_hits: int
    first_audio_ms: float
    voice: str
    model_digest: str
    total_ns: int
    load_ns: int
    prompt_eval_count: int
    prompt_eval_ns: int
    eval_count: int
    eval_ns: int


class _Audio(Wire):
    """`audio` of any object: the fields of a chunk and of the last one together."""

    mime_type: str = ""
    sample_rate: int = 0
    start_s: float = 0.0
    duration_s: float = 0.0
    text: str = ""
    utterances: int = 0
    cache_hits: int = 0
    first_audio_ms: float = 0.0
    voice: str = ""
    model_digest: str = ""


class _Line(Wire):
    """One object of /api/generate as it is read; `error` ends a stream that failed."""

    response: str = ""
    done: bool = False
    done_reason: str = ""
    error: str = ""
    audio: _Audio | None = None
    total_duration: int = 0
    load_duration: int = 0
    prompt_eval_count: int = 0
    prompt_eval_duration: int = 0
    eval_count: int = 0
    eval_duration: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """One text to speak: the model's name and what else the request says.

    `keep_alive` is seconds or a Go duration; None leaves it to the server. `whole` asks for the
    answer in one piece: it comes late, and headers know the length of what follows.
    """

    text: str
    model: str
    options: Mapping[str, object]
    system: str | None = None
    keep_alive: float | str | None = None
    whole: bool = False

    def call(self) -> Call:
        """The request to /api/generate."""
        body: dict[str, object] = {"model": self.model, "prompt": self.text}
        body["stream"] = not self.whole
        if self.options:
            body["options"] = dict(self.options)
        if self.system is not None:
            body["system"] = self.system
        if self.keep_alive is not None:
            body["keep_alive"] = self.keep_alive
        return Call.json("POST", "/api/generate", body)


def whole(body: bytes) -> bytes:
    """The file in an answer that came as one object.

    Raises:
        GenerationFailed: The object holds an error, or no sound.
    """
    line = _read(body)
    return binascii.a2b_base64(line.response)


def events(line: bytes) -> Iterator[SpeechChunk | SpeechEnd]:
    """What one line of a streamed answer holds: a chunk, the end, or a last chunk and the end.

    Raises:
        GenerationFailed: The line is the server's error, or not of this protocol.
    """
    read = _read(line)
    audio = read.audio or _Audio()
    if read.response or not read.done:
        yield SpeechChunk(
            binascii.a2b_base64(read.response),
            audio.mime_type,
            audio.sample_rate,
            audio.start_s,
            0.0 if read.done else audio.duration_s,
            audio.text,
        )
    if read.done:
        yield _end(read, audio)


def unfinished() -> GenerationFailed:
    """The failure of a stream that stops without its end record."""
    return GenerationFailed("the answer stopped before its end record")


def _read(line: bytes) -> _Line:
    try:
        read = decode(line, _Line)
    except msgspec.MsgspecError as error:
        raise GenerationFailed(f"the server's answer does not parse: {error}") from error
    if read.error:
        raise GenerationFailed(read.error)
    return read


def _end(read: _Line, audio: _Audio) -> SpeechEnd:
    return SpeechEnd(
        done_reason=read.done_reason,
        mime_type=audio.mime_type,
        sample_rate_hz=audio.sample_rate,
        duration_s=audio.duration_s,
        utterances=audio.utterances,
        cache_hits=audio.cache_hits,
        first_audio_ms=audio.first_audio_ms,
        voice=audio.voice,
        model_digest=audio.model_digest,
        total_ns=read.total_duration,
        load_ns=read.load_duration,
        prompt_eval_count=read.prompt_eval_count,
        prompt_eval_ns=read.prompt_eval_duration,
        eval_count=read.eval_count,
        eval_ns=read.eval_duration,
    )


def settle(outcomes: Sequence[bytes | OllamaTTSError]) -> list[bytes]:
    """The sound of a whole batch, in order.

    Raises:
        BatchFailed: An outcome is an error.
    """
    failures = {i: o for i, o in enumerate(outcomes) if isinstance(o, OllamaTTSError)}
    sounds = [None if isinstance(outcome, OllamaTTSError) else outcome for outcome in outcomes]
    if failures:
        raise BatchFailed(sounds, failures)
    return [sound for sound in sounds if sound is not None]
