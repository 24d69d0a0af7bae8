"""`/v1/models`, `/v1/audio/models`, `/v1/audio/voices`: what is there to speak with."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from ollama_tts.node import Node
from ollama_tts.protocol.openai import (
    AudioModel,
    AudioModelList,
    Model,
    VoiceEntry,
    VoiceList,
)
from ollama_tts.server.http.asking import node_of
from ollama_tts.server.http.proxy import merged
from ollama_tts.server.http.reply import PLAIN_JSON, json_reply
from ollama_tts.server.known import known_voices
from ollama_tts.store.model import LocalModel


async def list_models(request: Request) -> Response:
    """GET /v1/models."""
    models = [_model(model, model.name.short) for model in await _stored(request)]
    data = await merged(request, models, "/v1/models", "data")
    return _reply({"object": "list", "data": data})


async def retrieve_model(request: Request) -> Response:
    """GET /v1/models/NAME; the answer's id is the name as it was asked for."""
    name = request.path_params["name"]
    return _reply(_model(node_of(request).models.resolve(name), name))


def _model(model: LocalModel, name: str) -> Model:
    created_s = int(model.modified_at.timestamp())
    return Model(id=name, object="model", created=created_s, owned_by=model.name.namespace)


async def audio_models(request: Request) -> Response:
    """GET /v1/audio/models, as Open WebUI lists them."""
    names = [model.name.short for model in await _stored(request)]
    return _reply(AudioModelList(models=[AudioModel(id=name, name=name) for name in names]))


async def voices(request: Request) -> Response:
    """GET /v1/audio/voices; `?model=NAME` keeps those of one model."""
    node = node_of(request)
    wanted = request.query_params.get("model")
    models = [node.models.resolve(wanted)] if wanted else await _stored(request)
    listed = await asyncio.to_thread(lambda: [_voices(node, model) for model in models])
    return _reply(VoiceList(voices=[entry for entries in listed for entry in entries]))


def _voices(node: Node, model: LocalModel) -> list[VoiceEntry]:
    return [
        VoiceEntry(id=voice.id, name=voice.name, model=model.name.short, language=voice.language)
        for voice in known_voices(node, model)
    ]


async def _stored(request: Request) -> list[LocalModel]:
    node = node_of(request)
    return await asyncio.to_thread(node.store.list)


def _reply(value: object) -> Response:
    return json_reply(value, media_type=PLAIN_JSON)
