"""`/synthesize` and `/generate`: a text in, a WAV file out."""

import asyncio
import functools
import itertools
from contextlib import aclosing
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from ollama_tts.audio.wav import HEADER_BYTES, wav_header
from ollama_tts.errors import (
    Busy,
    DeadlineExceeded,
    Failed,
    InvalidRequest,
    OllamaTTSError,
    OutOfMemory,
    TooLarge,
    UnspeakableText,
)
from ollama_tts.node import Node
from ollama_tts.protocol.codec import convert, parse
from ollama_tts.protocol.synthesis import PromptRequest, SynthesizeRequest
from ollama_tts.server.default import model_or_default
from ollama_tts.server.http.asking import client_id_of, client_of, counted, node_of, request_id
from ollama_tts.server.http.body import read, read_struct
from ollama_tts.server.http.errors import status_of
from ollama_tts.server.http.reply import json_reply
from ollama_tts.server.http.speaking import opened, raw, whole
from ollama_tts.server.http.stream import Chunks, Head, Streaming, Waiting
from ollama_tts.server.reasons import text_of
from ollama_tts.service.events import AudioChunk, SpeechRequest
from ollama_tts.service.track import WHOLE_BYTES
from ollama_tts.text.preparer import says_anything

BINARY = "application/octet-stream"
MAX_ITEMS = 1000


async def synthesize(request: Request) -> ASGIApp:
    """POST /synthesize: streamed WAV."""
    node = node_of(request)
    with counted(node, "synthesize"):
        body = await read_struct(request, SynthesizeRequest)
        if not body.text.strip():
            raise InvalidRequest("'text' must not be blank")
        item = PromptRequest(prompt=body.text, model=body.model, options=body.options)
        return Streaming(raw(node.speech.speak(_speech(node, request, item))))


async def generate(request: Request) -> ASGIApp:
    """POST /generate: one text, or several that are spoken in order into one file."""
    node = node_of(request)
    with counted(node, "synthesize"):
        value = parse(await read(request))
        items = _items(value)
        if len(items) > 1:
            await asyncio.to_thread(_refuse_silent, items)
        groups = _grouped(items)
        speeches = [_speech(node, request, _joined(group)) for group in groups]
        if items[0].stream:
            return Streaming(_streamed_wav(node, speeches))
        if isinstance(value, list):
            return Waiting(functools.partial(_whole_batch, node, speeches, groups))
        return Waiting(functools.partial(_whole_wav, node, speeches))


def _items(value: object) -> list[PromptRequest]:
    members = value if isinstance(value, list) else [value]
    if not members:
        raise InvalidRequest("the array holds no text")
    if len(members) > MAX_ITEMS:
        raise TooLarge(f"the array holds {len(members)} texts; at most {MAX_ITEMS} go at once")
    return [_item(member) for member in members]


def _item(member: object) -> PromptRequest:
    if isinstance(member, str):
        member = {"prompt": member}
    if not isinstance(member, dict):
        raise InvalidRequest('each item must be a text or an object like {"prompt": "text"}')
    item = convert(member, PromptRequest)
    if not item.prompt.strip():
        raise InvalidRequest("'prompt' must not be blank")
    return item


def _refuse_silent(items: list[PromptRequest]) -> None:
    """Refuse an item that would be missing from the sound, and nobody would know.

    Raises:
        UnspeakableText: The item's place in the array, counted from 0.
    """
    for index, item in enumerate(items):
        if not says_anything(item.prompt):
            raise UnspeakableText(f"item {index} of the array holds nothing that can be spoken")


def _grouped(items: list[PromptRequest]) -> list[list[PromptRequest]]:
    """Neighbours that differ in nothing but their text are spoken as one."""
    groups = itertools.groupby(items, lambda item: (item.model, item.options))
    return [list(group) for _, group in groups]


def _joined(group: list[PromptRequest]) -> PromptRequest:
    """A group as one request, a paragraph each."""
    text = "\n\n".join(item.prompt for item in group)
    return PromptRequest(prompt=text, model=group[0].model, options=group[0].options)


def _speech(node: Node, request: Request, item: PromptRequest) -> SpeechRequest:
    return SpeechRequest(
        model=model_or_default(node, item.model),
        text=item.prompt,
        options={**item.options, "audio_format": "wav"},
        client=client_of(request),
        client_id=client_id_of(request.headers),
        request_id=request_id(request.scope),
        surface="synthesize",
    )


async def _streamed_wav(node: Node, speeches: list[SpeechRequest]) -> Chunks:
    """One WAV file: the first answer's header, then the samples of all."""
    rate_hz = 0
    for speech in speeches:
        async with aclosing(node.speech.speak(_at(speech, rate_hz))) as events:
            started = await opened(events)
            skip = HEADER_BYTES if rate_hz else 0
            if not rate_hz:
                rate_hz = started.audio.sample_rate_hz
                yield Head(BINARY)
            async for event in events:
                if isinstance(event, AudioChunk):
                    data = event.data[skip:]
                    skip = max(0, skip - len(event.data))
                    yield data


def _at(speech: SpeechRequest, rate_hz: int) -> SpeechRequest:
    """The same request at the sample rate of the file it goes into; 0 leaves it to the voice."""
    if not rate_hz:
        return speech
    return replace(speech, options={**speech.options, "sample_rate": rate_hz})


async def _whole_wav(node: Node, speeches: list[SpeechRequest]) -> Response:
    """One WAV file with its true sizes."""
    wav = _Wav()
    for speech in speeches:
        await wav.add(node, speech)
    return wav.reply()


async def _whole_batch(
    node: Node, speeches: list[SpeechRequest], groups: list[list[PromptRequest]]
) -> Response:
    """As `_whole_wav`; where items failed, `{"error", "retry": [index, …]}` says which.

    Only what may succeed when it is sent again counts; a request that cannot be meant (an unknown
    voice, say) is refused as a whole.
    """
    wav = _Wav()
    retry: list[int] = []
    reasons: list[OllamaTTSError] = []
    first = 0
    for speech, group in zip(speeches, groups, strict=True):
        try:
            await wav.add(node, speech)
        except (Failed, OutOfMemory, Busy, DeadlineExceeded) as error:
            reasons.append(error)
            retry += range(first, first + len(group))
        first += len(group)
    if not reasons:
        return wav.reply()
    body = {"error": text_of(reasons[0]), "retry": retry}
    return json_reply(body, status_of(reasons[0]))


class _Wav:
    """A WAV file that grows by whole answers, all at the rate of the first."""

    def __init__(self) -> None:
        self._samples = bytearray()
        self._rate_hz = 0

    async def add(self, node: Node, speech: SpeechRequest) -> None:
        asked = replace(_at(speech, self._rate_hz), whole=True)
        spoken = await whole(node.speech.speak(asked))
        self._rate_hz = spoken.started.audio.sample_rate_hz
        self._samples += spoken.file[HEADER_BYTES:]
        if len(self._samples) > WHOLE_BYTES:
            raise TooLarge("an answer in one piece holds at most 64 MiB of sound: stream it")

    def reply(self) -> Response:
        data = wav_header(self._rate_hz, len(self._samples)) + self._samples
        return Response(data, media_type=BINARY)
