"""What a door reads of its request beside the body."""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.types import Scope

from ollama_tts.errors import Cancelled, InvalidRequest, OllamaTTSError
from ollama_tts.metrics import Surface
from ollama_tts.node import Node

MAX_CLIENT_ID_CHARS = 256


def node_of(request: Request) -> Node:
    """The node behind this door."""
    node = request.app.state.node
    assert isinstance(node, Node)
    return node


def request_id(scope: Scope) -> str:
    """The request's id: the caller's own `X-Request-Id`, or one that the guard gave it."""
    return str(scope.get("state", {}).get("request_id", "-"))


def client_of(request: HTTPConnection) -> str:
    """Who asks, for fairness between callers: the key's name, else the address without port."""
    return str(request.scope["state"]["caller"])


def client_id_of(headers: Headers) -> str:
    """What the caller calls itself (`X-Client-Id`); empty where it does not.

    Raises:
        InvalidRequest: Longer than it may be.
    """
    given = headers.get("x-client-id", "").strip()
    if len(given) > MAX_CLIENT_ID_CHARS:
        raise InvalidRequest(
            f"X-Client-Id may have {MAX_CLIENT_ID_CHARS} characters, not {len(given)}"
        )
    return given


@contextmanager
def counted(node: Node, surface: Surface) -> Iterator[None]:
    """Count a request that is refused in this block, before the speech service.

    The service counts all that reach it, so each is counted once.
    """
    try:
        yield
    except OllamaTTSError as error:
        left = isinstance(error, Cancelled)
        node.metrics.request(surface, "cancelled" if left else "client_error")
        raise
