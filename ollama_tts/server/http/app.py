"""`create_http(node)`: the route table, on one screen."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route, WebSocketRoute

from ollama_tts.errors import OllamaTTSError
from ollama_tts.node import Node
from ollama_tts.server.http import (
    catalog,
    embed,
    models,
    ollama,
    openai,
    ops,
    proxy,
    short,
    socket,
    sounds,
    ui,
)
from ollama_tts.server.http.errors import on_error, on_http_error
from ollama_tts.server.http.guard import Guard
from ollama_tts.server.http.limits import ASK, LOOK, UPLOAD, WORK, Limits

ROUTES = (
    ("GET", "/", LOOK, ops.root),
    ("GET", "/healthz", LOOK, ops.healthz),
    ("GET", "/readyz", LOOK, ops.readyz),
    ("GET", "/metrics", LOOK, ops.metrics),
    ("GET", "/ui", LOOK, ui.page),
    ("GET", "/ui/about.json", LOOK, ui.about),
    ("GET", "/ui/{name}", LOOK, ui.part),
    # Ollama
    ("GET", "/api/version", LOOK, ops.version),
    ("GET", "/api/status", LOOK, ops.status),
    ("POST", "/api/me", ASK, ops.account),
    ("POST", "/api/signout", ASK, ops.account),
    ("DELETE", "/api/user/keys/{key}", ASK, ops.account),
    ("POST", "/api/generate", WORK, proxy.passing(ollama.generate)),
    ("POST", "/api/chat", WORK, proxy.passing(ollama.chat)),
    ("POST", "/api/embed", WORK, proxy.passing(embed.embed)),
    ("POST", "/api/embeddings", WORK, proxy.passing(embed.embeddings)),
    ("GET", "/api/tags", LOOK, models.tags),
    ("GET", "/api/ps", LOOK, models.ps),
    ("POST", "/api/show", ASK, proxy.passing(models.show)),
    ("POST", "/api/copy", ASK, models.copy),
    ("DELETE", "/api/delete", ASK, models.delete),
    ("POST", "/api/pull", WORK, models.pull),
    ("POST", "/api/push", WORK, models.push),
    ("POST", "/api/create", WORK, models.create),
    ("HEAD POST", "/api/blobs/{digest}", UPLOAD, models.blob),
    # the audio cache
    ("GET", "/api/cache", LOOK, sounds.state),
    ("DELETE", "/api/cache", ASK, sounds.forget),
    ("POST", "/api/cache", WORK, sounds.warm),
    # OpenAI
    ("POST", "/v1/audio/speech", WORK, openai.speech),
    ("GET", "/v1/audio/voices", LOOK, catalog.voices),
    ("GET", "/v1/audio/models", LOOK, catalog.audio_models),
    ("GET", "/v1/models", LOOK, catalog.list_models),
    ("GET", "/v1/models/{name:path}", LOOK, proxy.passing(catalog.retrieve_model)),
    ("POST", "/v1/chat/completions", WORK, proxy.passing(openai.chat_completions)),
    ("POST", "/v1/completions", WORK, proxy.passing(proxy.unspoken)),
    ("POST", "/v1/embeddings", WORK, proxy.passing(proxy.unspoken)),
    ("POST", "/v1/messages", WORK, proxy.passing(proxy.unspoken)),
    ("POST", "/v1/responses", WORK, proxy.passing(proxy.unspoken)),
    # one text in, one file out
    ("POST", "/synthesize", WORK, short.synthesize),
    ("POST", "/generate", WORK, short.generate),
)


SOCKET = "/api/speak"


def limits() -> Limits:
    """What a request may cost, by verb and path."""
    return Limits((verbs, path, limit) for verbs, path, limit, _ in ROUTES)


def create_http(node: Node) -> Starlette:
    """The ASGI application over a node; entering and leaving the node is the caller's."""
    app = Starlette(
        routes=[
            *(Route(path, door, methods=verbs.split()) for verbs, path, _, door in ROUTES),
            WebSocketRoute(SOCKET, socket.speak),
        ],
        middleware=[Middleware(Guard, settings=node.settings, rates=node.rates, limits=limits())],
        exception_handlers={OllamaTTSError: on_error, HTTPException: on_http_error},
    )
    app.router.redirect_slashes = False
    app.state.node = node
    return app
