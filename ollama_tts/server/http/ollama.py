"""`/api/generate` and `/api/chat`: Ollama's checks in Ollama's order, then speech.

Order (server/routes.go): body, name, model, unload, raw, capabilities, load, speak; so an unload
succeeds even where options are wrong.
"""

import functools
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from ollama_tts.errors import InvalidRequest
from ollama_tts.metrics import Surface
from ollama_tts.node import Node
from ollama_tts.options import resolve
from ollama_tts.protocol.fields import keep_alive_s, plain_text, thinks
from ollama_tts.protocol.ollama import AskedMessage, ChatRequest, GenerateRequest, SpeakingRequest
from ollama_tts.scheduler import Terms
from ollama_tts.server.http.accept import Wanted, wanted
from ollama_tts.server.http.asking import client_id_of, client_of, counted, node_of, request_id
from ollama_tts.server.http.body import read_struct
from ollama_tts.server.http.errors import error_line
from ollama_tts.server.http.objects import Shape
from ollama_tts.server.http.proxy import question_of
from ollama_tts.server.http.reply import json_reply
from ollama_tts.server.http.speaking import (
    ndjson,
    raw,
    sse,
    sse_error,
    whole_file,
    whole_object,
)
from ollama_tts.server.http.stream import Streaming, Waiting
from ollama_tts.server.reasons import text_of
from ollama_tts.service.events import SpeechRequest
from ollama_tts.store.model import LocalModel
from ollama_tts.upstream.telling import Question


@dataclass(frozen=True, slots=True)
class _Asked:
    """What generate and chat make of a request before they part."""

    node: Node
    request: SpeakingRequest
    wanted: Wanted
    shape: Shape
    keep_alive_s: float | None
    think: bool
    client: str

    @property
    def surface(self) -> Surface:
        """Under which name the request is counted."""
        if self.wanted.form != "ndjson":
            return "raw" if self.wanted.form == "raw" else "sse"
        return "chat" if self.shape.chat else "generate"


async def generate(request: Request) -> ASGIApp:
    """POST /api/generate."""
    with counted(node_of(request), "generate"):
        body = await read_struct(request, GenerateRequest)
        asked = _asked(request, body, chat=False)
        model = asked.node.models.resolve(body.model)
        if not body.prompt and asked.keep_alive_s == 0:
            return Waiting(functools.partial(_unload, asked, model))
        if body.raw and (body.template or body.system or body.context):
            raise InvalidRequest("raw mode does not support template, system, or context")
        question = question_of(request, model, body) if body.prompt else None
        _check_capabilities(asked, model, "insert" if body.suffix else "", question)
        if not body.prompt:
            return Waiting(functools.partial(_load, asked, model))
        return _speak(asked, _speech(asked, request, body), question)


def _speech(asked: _Asked, request: Request, body: GenerateRequest) -> SpeechRequest:
    return SpeechRequest(
        model=body.model,
        text=body.prompt,
        options=_options(asked),
        system=body.system or None,
        template=body.template or None,
        raw=body.raw,
        keep_alive_s=asked.keep_alive_s,
        client=asked.client,
        client_id=client_id_of(request.headers),
        request_id=request_id(request.scope),
        whole=not body.stream,
        surface=asked.surface,
    )


async def chat(request: Request) -> ASGIApp:
    """POST /api/chat: speaks the last user message, or what a language model answers."""
    with counted(node_of(request), "chat"):
        body = await read_struct(request, ChatRequest)
        if not body.model:
            raise InvalidRequest("model is required")
        asked = _asked(request, body, chat=True)
        model = asked.node.models.resolve(body.model)
        if not body.messages and asked.keep_alive_s == 0:
            return Waiting(functools.partial(_unload, asked, model))
        question = question_of(request, model, body) if body.messages else None
        _check_capabilities(asked, model, "tools" if body.tools else "", question)
        if not body.messages:
            return Waiting(functools.partial(_load, asked, model))
        return _speak(asked, _spoken_message(asked, request, body, question), question)


def _spoken_message(
    asked: _Asked, request: Request, body: ChatRequest, question: Question | None
) -> SpeechRequest:
    text = _last(body.messages, "user") if question is None else ""
    if not text and question is None:
        raise InvalidRequest("there is no user message to speak: 'messages' needs one with text")
    return SpeechRequest(
        model=body.model,
        text=text,
        options=_options(asked),
        system=_last(body.messages, "system") or None,
        keep_alive_s=asked.keep_alive_s,
        client=asked.client,
        client_id=client_id_of(request.headers),
        request_id=request_id(request.scope),
        whole=not body.stream,
        surface=asked.surface,
    )


def _last(messages: list[AskedMessage], role: str) -> str:
    """The text of the last message of a role; empty where there is none."""
    for message in reversed(messages):
        if message.role.lower() == role:
            return plain_text(message.content)
    return ""


def _asked(request: Request, body: SpeakingRequest, *, chat: bool) -> _Asked:
    """Check what Ollama checks while it decodes."""
    if not 0 <= body.top_logprobs <= 20:
        raise InvalidRequest("top_logprobs must be between 0 and 20")
    return _Asked(
        node=node_of(request),
        request=body,
        wanted=wanted(request.headers.get("accept", "")),
        shape=Shape(body.model, chat),
        keep_alive_s=keep_alive_s(body.keep_alive),
        think=thinks(body.think),
        client=client_of(request),
    )


def _options(asked: _Asked) -> dict[str, object]:
    """The request's options, the audio format as Accept has it."""
    chosen = asked.wanted.audio_format
    return asked.request.options | ({"audio_format": chosen} if chosen else {})


def _check_capabilities(
    asked: _Asked, model: LocalModel, lacking: str, question: Question | None
) -> None:
    if asked.think and question is None:
        raise InvalidRequest(f'"{asked.request.model}" does not support thinking')
    if lacking:
        raise InvalidRequest(f"{model.name.full} does not support {lacking}")


async def _unload(asked: _Asked, model: LocalModel) -> Response:
    for voice in _voices(asked, model):
        await asked.node.scheduler.unload(voice)
    return json_reply(asked.shape.bare("unload"))


async def _load(asked: _Asked, model: LocalModel) -> Response:
    for voice in _voices(asked, model):
        options = resolve(voice.parameters, asked.request.options)
        terms = Terms(asked.client, options.speech.priority, chars=0)
        async with asked.node.scheduler.lease(voice, options.load, asked.keep_alive_s, terms):
            pass
    return json_reply(asked.shape.bare("load"))


def _voices(asked: _Asked, model: LocalModel) -> list[LocalModel]:
    """The models that a load or unload means: `model`, or all that its split may choose."""
    split = bool(model.parameters.get("split"))
    return (
        asked.node.routing.voices(asked.request.model, asked.request.options) if split else [model]
    )


def _speak(asked: _Asked, speech: SpeechRequest, question: Question | None) -> ASGIApp:
    """The answer with sound, in the form that Accept asks for."""
    node = asked.node
    events = node.spoken.speak(speech, question) if question else node.speech.speak(speech)
    if asked.wanted.form == "sse":
        return Streaming(sse(events), lambda error: sse_error(text_of(error)))
    if speech.whole:
        if asked.wanted.form == "raw":
            return Waiting(functools.partial(whole_file, events))
        return Waiting(functools.partial(whole_object, events, asked.shape))
    if asked.wanted.form == "raw":
        return Streaming(raw(events))
    return Streaming(ndjson(events, asked.shape), error_line)
