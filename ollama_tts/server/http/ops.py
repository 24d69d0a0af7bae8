"""What is asked of the server itself: is it there, which version, how is it."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ollama_tts.metrics import CONTENT_TYPE
from ollama_tts.protocol.ollama import CloudStatus, StatusResponse, VersionResponse
from ollama_tts.server.http.asking import node_of
from ollama_tts.server.http.errors import Refused
from ollama_tts.server.http.reply import json_reply
from ollama_tts.version import __version__


async def root(request: Request) -> Response:  # noqa: ARG001
    """GET /: the text that Ollama's clients look for."""
    return PlainTextResponse("Ollama is running")


async def version(request: Request) -> Response:  # noqa: ARG001
    """GET /api/version: dot-separated numbers, which Open WebUI compares as integers."""
    return json_reply(VersionResponse(version=__version__))


async def status(request: Request) -> Response:  # noqa: ARG001
    """GET /api/status: there is no cloud behind this server."""
    return json_reply(StatusResponse(cloud=CloudStatus(disabled=True, source="config")))


async def account(request: Request) -> Response:
    """POST /api/me and the like: nobody signs in to ollama.com here.

    Raises:
        Refused: Always, 503 with Ollama's text; the stock command line stops on it.
    """
    del request
    raise Refused("account unavailable", 503)


async def healthz(request: Request) -> Response:  # noqa: ARG001
    """GET /healthz: the process answers."""
    return json_reply({"status": "ok"})


async def readyz(request: Request) -> Response:
    """GET /readyz: it takes work; 503 before the store is open and while it drains."""
    node = node_of(request)
    if node.ready:
        return json_reply({"status": "ready"})
    return json_reply({"status": "draining"}, 503)


async def metrics(request: Request) -> Response:
    """GET /metrics, in Prometheus' text format."""
    node = node_of(request)
    await node.cards.look()
    return Response(node.metrics.render(), headers={"content-type": CONTENT_TYPE})
