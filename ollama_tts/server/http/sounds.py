"""`/api/cache`: the audio cache shown, emptied, and filled before anyone asks."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from ollama_tts.protocol.codec import decode, parse
from ollama_tts.protocol.sounds import ForgetRequest, WarmRequest
from ollama_tts.server.http.asking import client_of, node_of
from ollama_tts.server.http.body import read, read_struct
from ollama_tts.server.http.models import progress_reply
from ollama_tts.server.http.reply import json_reply


async def state(request: Request) -> Response:
    """GET /api/cache."""
    return json_reply(await node_of(request).kept.state())


async def forget(request: Request) -> Response:
    """DELETE /api/cache: all of it without a body, or with an empty object."""
    body = await read(request)
    everything = not body.strip() or parse(body) == {}
    asked = None if everything else decode(body, ForgetRequest)
    return json_reply(await node_of(request).kept.forget(asked))


async def warm(request: Request) -> ASGIApp:
    """POST /api/cache: progress, as of a pull."""
    body = await read_struct(request, WarmRequest)
    return progress_reply(node_of(request).kept.warm(body, client_of(request)), stream=body.stream)
