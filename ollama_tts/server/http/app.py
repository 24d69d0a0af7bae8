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

ROUTES = (
    ("GET", "/", ops.root),
    ("GET", "/healthz", ops.healthz),
    ("GET", "/readyz", ops.readyz),
    ("GET", "/metrics", ops.metrics),
    ("GET", "/ui", ui.page),
    ("GET", "/ui/about.json", ui.about),
    ("GET", "/ui/{name}", ui.part),
    # Ollama
    ("GET", "/api/version", ops.version),
    ("GET", "/api/status", ops.status),
    ("POST", "/api/me", ops.account),
    ("POST", "/api/signout", ops.account),
    ("DELETE", "/api/user/keys/{key}", ops.account),
    ("POST", "/api/generate", proxy.passing(ollama.generate)),
    ("POST", "/api/chat", proxy.passing(ollama.chat)),
    ("POST", "/api/embed", proxy.passing(embed.embed)),
    ("POST", "/api/embeddings", proxy.passing(embed.embeddings)),
    ("GET", "/api/tags", models.tags),
    ("GET", "/api/ps", models.ps),
    ("POST", "/api/show", proxy.passing(models.show)),
    ("POST", "/api/copy", models.copy),
    ("DELETE", "/api/delete", models.delete),
    ("POST", "/api/pull", models.pull),
    ("POST", "/api/push", models.push),
    ("POST", "/api/create", models.create),
    ("HEAD POST", "/api/blobs/{digest}", models.blob),
    # the audio cache
    ("GET", "/api/cache", sounds.state),
    ("DELETE", "/api/cache", sounds.forget),
    ("POST", "/api/cache", sounds.warm),
    # OpenAI
    ("POST", "/v1/audio/speech", openai.speech),
    ("GET", "/v1/audio/voices", catalog.voices),
    ("GET", "/v1/audio/models", catalog.audio_models),
    ("GET", "/v1/models", catalog.list_models),
    ("GET", "/v1/models/{name:path}", proxy.passing(catalog.retrieve_model)),
    ("POST", "/v1/chat/completions", proxy.passing(openai.chat_completions)),
    ("POST", "/v1/completions", proxy.passing(proxy.unspoken)),
    ("POST", "/v1/embeddings", proxy.passing(proxy.unspoken)),
    ("POST", "/v1/messages", proxy.passing(proxy.unspoken)),
    ("POST", "/v1/responses", proxy.passing(proxy.unspoken)),
    # one text in, one file out
    ("POST", "/synthesize", short.synthesize),
    ("POST", "/generate", short.generate),
)


def create_http(node: Node) -> Starlette:
    """The ASGI application over a node; entering and leaving the node is the caller's."""
    app = Starlette(
        routes=[
            *(Route(path, door, methods=verbs.split()) for verbs, path, door in ROUTES),
            WebSocketRoute("/api/speak", socket.speak),
        ],
        middleware=[Middleware(Guard, settings=node.settings)],
        exception_handlers={OllamaTTSError: on_error, HTTPException: on_http_error},
    )
    app.router.redirect_slashes = False
    app.state.node = node
    return app
