"""`/v1/audio/speech`: the same speech service in OpenAI's words."""

import functools
from collections.abc import Mapping
from contextlib import aclosing

from starlette.requests import Request
from starlette.types import ASGIApp

from ollama_tts.errors import InvalidName, InvalidRequest, ModelNotFound
from ollama_tts.node import Node
from ollama_tts.options import AUDIO_FORMATS, find, shown
from ollama_tts.protocol.codec import convert, parse
from ollama_tts.protocol.openai import AudioDelta, AudioDone, ChatBody, SpeechBody, Usage
from ollama_tts.server.default import default_model
from ollama_tts.server.http.asking import client_id_of, client_of, counted, node_of, request_id
from ollama_tts.server.http.body import read, read_struct
from ollama_tts.server.http.errors import InvalidField, error_body
from ollama_tts.server.http.reply import SSE
from ollama_tts.server.http.speaking import (
    Events,
    opened,
    raw,
    sse_event,
    sse_texts,
    whole_file,
)
from ollama_tts.server.http.stream import Chunks, Head, Streaming, Waiting
from ollama_tts.service.events import AudioChunk, SpeechDone, SpeechRequest

SLOWEST, FASTEST = 0.25, 4.0
PCM_HZ = 24_000  # what OpenAI's raw sound is, whatever the voice's own rate

# Names that clients of OpenAI send when their user chose nothing. They mean "the default" unless
# the store holds a model of that name.
OPENAI_MODELS = frozenset({"tts-1", "tts-1-hd", "gpt-4o-mini-tts"})
OPENAI_VOICES = frozenset({
    "alloy", "ash", "ballad", "cedar", "coral", "default", "echo", "fable", "marin", "nova",
    "onyx", "sage", "shimmer", "verse",
})  # fmt: skip

_FIELDS = frozenset(SpeechBody.__struct_fields__)


async def speech(request: Request) -> ASGIApp:
    """POST /v1/audio/speech."""
    node = node_of(request)
    with counted(node, "openai"):
        body, extra = await _body(request)
        asked = _request(node, request, body, extra)
        in_events = _choice(body.stream_format, "stream_format", ("audio", "sse"), "audio") == "sse"
        events = node.speech.speak(asked)
        if in_events:
            path = request.url.path
            return Streaming(sse(events), lambda error: sse_event(error_body(error, path)))
        if asked.whole:
            return Waiting(functools.partial(whole_file, events))
        return Streaming(raw(events))


async def _body(request: Request) -> tuple[SpeechBody, dict[str, object]]:
    """The body, and what else stands in it under the name of an option (`seed`, `language` …)."""
    value = parse(await read(request))
    if not isinstance(value, dict):
        raise InvalidRequest("the body must be a JSON object")
    extra = {key: member for key, member in value.items() if key not in _FIELDS and find(key)}
    return convert(value, SpeechBody), extra


def _request(
    node: Node, request: Request, body: SpeechBody, extra: Mapping[str, object]
) -> SpeechRequest:
    audio_format = _choice(body.response_format, "response_format", AUDIO_FORMATS, "mp3")
    speed = _speed(body.speed)
    bounded = min(2.0, max(0.5, speed))
    fixed: dict[str, object] = {"audio_format": audio_format, "speed": bounded}
    if audio_format == "pcm":
        fixed["sample_rate"] = PCM_HZ
    text = body.input
    if not isinstance(text, str) or not text.strip():
        raise InvalidField("'input' must be a text that is not empty", "input")
    model = _model(node, body.model)
    return SpeechRequest(
        model=model,
        text=text,
        options={**fixed, **_voice(body.voice), **extra, **body.options},
        system=_text(body.instructions, "instructions") or None,
        client=client_of(request),
        client_id=client_id_of(request.headers) or _text(body.user, "user"),
        request_id=request_id(request.scope),
        whole=body.stream is False,
        stretch=speed / bounded,
        surface="openai",
    )


def _choice(value: object, name: str, allowed: tuple[str, ...], default: str) -> str:
    if value is None:
        return default
    if isinstance(value, str) and value.lower() in allowed:
        return value.lower()
    raise InvalidField(f"'{name}' must be one of {', '.join(allowed)}, not {value!r:.80}", name)


def _text(value: object, name: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise InvalidField(f"'{name}' must be a text, not {value!r:.80}", name)


def _speed(value: object) -> float:
    if value is None:
        return 1.0
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and SLOWEST <= value <= FASTEST
    ):
        return float(value)
    raise InvalidField(
        f"'speed' must be a number from {SLOWEST} to {FASTEST}, not {shown(value)}", "speed"
    )


def _voice(value: object) -> dict[str, object]:
    """The option for a voice; nothing where the model's own default is meant."""
    if isinstance(value, dict):
        value = value.get("id", "")
    if value is None:
        return {}
    if not isinstance(value, str) or not value.strip():
        raise InvalidField(
            f"'voice' must be a name from /v1/audio/voices, not {value!r:.80}", "voice"
        )
    return {} if value in OPENAI_VOICES else {"voice": value}


def _model(node: Node, value: object) -> str:
    """The model's name; the default one where none was named, or only one of OpenAI's own."""
    name = _text(value, "model")
    if not name:
        return default_model(node)
    try:
        node.models.resolve(name)
    except ModelNotFound:
        if name in OPENAI_MODELS:
            return default_model(node)
        raise
    except InvalidName as error:
        raise InvalidField(str(error), "model") from error
    return name


async def sse(events: Events) -> Chunks:
    """OpenAI's server-sent events: `speech.audio.delta` …, `speech.audio.done`."""
    async with aclosing(events):
        await opened(events)
        yield Head(SSE)
        async for event in events:
            if isinstance(event, AudioChunk):
                for text in sse_texts(event.data):
                    yield sse_event(AudioDelta(audio=text.decode("ascii")))
            elif isinstance(event, SpeechDone):
                yield sse_event(AudioDone(usage=_usage(event)))


def _usage(done: SpeechDone) -> Usage:
    return Usage(
        input_tokens=done.prompt_eval_count,
        output_tokens=done.eval_count,
        total_tokens=done.prompt_eval_count + done.eval_count,
    )


async def chat_completions(request: Request) -> ASGIApp:
    """POST /v1/chat/completions: a voice holds no conversation; the refusal names the way."""
    body = await read_struct(request, ChatBody)
    if not body.messages:
        raise InvalidRequest("[] is too short - 'messages'")
    raise InvalidRequest(
        f'"{body.model}" does not support chat completions; use /v1/audio/speech, or /api/chat'
    )
