"""Requests and responses of `/v1/*` as structs (OpenAI's names)."""

import msgspec

from ollama_tts.protocol.ollama import Options, Wire


class SpeechBody(Wire, kw_only=True):
    """POST /v1/audio/speech. Every field as it came; the door checks and names what is wrong.

    `stream` is no field of OpenAI's: false asks for a file with exact sizes in its header. `user`
    is one of its other routes' fields: what the caller calls itself.
    """

    model: object = None
    input: object = None
    voice: object = None
    instructions: object = None
    response_format: object = None
    speed: object = None
    stream_format: object = None
    stream: object = None
    user: object = None
    options: Options = msgspec.field(default_factory=dict)


class ChatBody(Wire, kw_only=True):
    """POST /v1/chat/completions, as far as it is read to refuse it."""

    model: str = ""
    messages: list[object] = msgspec.field(default_factory=list)


class Model(Wire, kw_only=True):
    """One model in OpenAI's words; `created` is in Unix seconds, `owned_by` the namespace."""

    id: str
    object: str
    created: int
    owned_by: str


class VoiceEntry(Wire, kw_only=True):
    """One voice of one model."""

    id: str
    name: str
    model: str
    language: str


class VoiceList(Wire, kw_only=True):
    """GET /v1/audio/voices."""

    voices: list[VoiceEntry]


class AudioModel(Wire, kw_only=True):
    """One model that speaks."""

    id: str
    name: str


class AudioModelList(Wire, kw_only=True):
    """GET /v1/audio/models."""

    models: list[AudioModel]


class Usage(msgspec.Struct, kw_only=True):
    """Counts of `speech.audio.done`: text tokens in, codec steps out."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class AudioDelta(msgspec.Struct, kw_only=True, tag_field="type", tag="speech.audio.delta"):
    """A server-sent event with some base64 of the file."""

    audio: str


class AudioDone(msgspec.Struct, kw_only=True, tag_field="type", tag="speech.audio.done"):
    """The server-sent event that ends an answer."""

    usage: Usage
