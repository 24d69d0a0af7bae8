"""What services give to doors: speech as events, model work as progress."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from ollama_tts.metrics import Surface


class Flush(Enum):
    """Stands between parts of a text: speak what is there, the sentence is over."""

    NOW = auto()


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """One request to speak.

    `model` is the name as the client wrote it. `text` is whole, or an iterator of parts that
    arrive as they are written (utterances start as soon as they are complete); `begun`, if given,
    is awaited before a place is taken, so that nobody waits for a writer's first word in one;
    what it raises is the answer's failure. `template` and
    `system`, where given, replace the model's own. `keep_alive_s` None keeps what the loaded
    model had (default at load), 0 unloads afterwards, negative or infinite keeps for ever.
    `client` identifies the caller for fairness. `client_id` is the caller's own word for itself,
    empty where it has none: a model's `split` keeps to it.
    """

    model: str
    text: str | AsyncIterator[str | Flush]
    options: Mapping[str, object] = field(default_factory=dict)
    system: str | None = None
    template: str | None = None
    raw: bool = False
    keep_alive_s: float | None = None
    client: str = ""
    client_id: str = ""
    request_id: str = ""
    whole: bool = False
    stretch: float = 1.0
    begun: Callable[[], Awaitable[None]] | None = None
    surface: Surface = "generate"


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """How the sound of one answer is written. `mime_type` is what goes into Content-Type."""

    format: str
    mime_type: str
    sample_rate_hz: int
    channels: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class AudioChunk:
    """Some bytes of the answer's one file, in order.

    `start_s` and `duration_s` place the sound behind these bytes (an encoder may hold some back,
    then `data` can be empty). `text` is what of the input this chunk begins to speak, once per
    utterance; `text_start` and `text_end` are its code point offsets in the input. `written` is
    for input that the caller does not know, a language model's: its text since the last chunk's.
    """

    data: bytes
    start_s: float
    duration_s: float
    text: str = ""
    text_start: int = 0
    text_end: int = 0
    utterance: int = 0
    written: str = ""


@dataclass(frozen=True, slots=True)
class SpeechDone:
    """The one end of an answer, sent last. Durations in ns, counts as Ollama counts."""

    done_reason: str
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


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The first event of every answer: the model is loaded and the text accepted."""

    audio: AudioFormat
    voice: str
    model_digest: str
    load_ns: int


SpeechEvent = SpeechStarted | AudioChunk | SpeechDone


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of a model operation; the last one's status is "success"."""

    status: str
    digest: str = ""
    total: int = 0
    completed: int = 0
