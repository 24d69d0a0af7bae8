"""Requests for models that are not here, passed on to the Ollama behind this server.

Method, path, query, header fields and body go on as they came, the answer comes back as it is
given, chunk by chunk; whoever leaves closes the request there. Only fields of one connection are
changed (`upstream.headers`). Ours are all names that the store holds: they never go on.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ollama_tts.errors import InvalidName, InvalidRequest, ModelNotFound, OllamaFailed
from ollama_tts.node import Node
from ollama_tts.protocol.codec import convert, encode, encode_line, parse
from ollama_tts.protocol.ollama import ChatRequest, GenerateRequest, NamedRequest
from ollama_tts.server.http.asking import node_of
from ollama_tts.server.http.body import read, read_struct
from ollama_tts.server.http.errors import Refused, error_body
from ollama_tts.server.http.stream import STALL_S, while_connected
from ollama_tts.store.model import LocalModel
from ollama_tts.upstream.client import Ask, HeaderLines, Reply, Upstream
from ollama_tts.upstream.headers import answered, asked
from ollama_tts.upstream.telling import Question

log = logging.getLogger(__name__)

Door = Callable[[Request], Awaitable[ASGIApp]]

LOOP_DETECTED = 508


def passing(door: Door) -> Door:
    """The door for models that are here; requests that name another go to the upstream, if any."""

    @functools.wraps(door)
    async def either(request: Request) -> ASGIApp:
        node = node_of(request)
        if node.upstream is None:
            return await door(request)
        body = await read(request)
        name = request.path_params.get("name") or _named(body)
        if not name or _holds(node, name):
            return await door(request)
        _refuse_round(request, node.upstream)
        return PassedOn(node.upstream, _ask(request, body), name)

    return either


def _named(body: bytes) -> str:
    """The model that a body names; empty where the door has to say what is wrong with it."""
    try:
        value = parse(body)
        return convert(value, NamedRequest).asked if isinstance(value, dict) else ""
    except InvalidRequest:
        return ""


def _holds(node: Node, name: str) -> bool:
    """Whether a name is ours to answer for: it is in the store, or is none."""
    try:
        node.models.resolve(name)
    except ModelNotFound:
        return False
    except InvalidName:
        return True
    return True


def _refuse_round(request: Request, upstream: Upstream) -> None:
    """Refuse what this server itself has passed on.

    Raises:
        Refused: 508; the upstream leads back here.
    """
    if upstream.mark in request.headers.get("via", ""):
        raise Refused("loop: OLLAMA_UPSTREAM leads back to this server", LOOP_DETECTED)


def _via(request: Request) -> HeaderLines:
    return [(name, text) for name, text in request.headers.raw if name == b"via"]


def question_of(
    request: Request, model: LocalModel, body: GenerateRequest | ChatRequest
) -> Question | None:
    """What a language model is to be asked for a request; None where its own text is spoken.

    Raises:
        Refused: 508; this server has asked for it itself.
        Unsupported: There is no upstream.
        InvalidRequest: The option `llm` is no text, or a message is none.
    """
    node = node_of(request)
    question = node.spoken.question(model, body)
    if question is None or node.upstream is None:
        return question
    _refuse_round(request, node.upstream)
    return replace(question, via=_via(request))


def _ask(request: Request, body: bytes) -> Ask:
    query = request.url.query
    target = quote(request.url.path, safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")
    with_key = not node_of(request).settings.api_keys
    headers = asked(request.headers.raw, with_key=with_key)
    return Ask(request.method, target, headers, body)


class PassedOn:
    """The upstream's answer to `ask`, as it comes."""

    def __init__(
        self, upstream: Upstream, ask: Ask, name: str, *, stall_s: float = STALL_S
    ) -> None:
        self._upstream = upstream
        self._ask = ask
        self._name = name
        self._stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask and send the answer on; the caller's leaving ends both.

        Raises:
            OllamaFailed: There is no answer; the text says which name was asked for.
        """
        await while_connected(receive, self._relay(scope["path"], send))

    async def _relay(self, path: str, send: Send) -> None:
        try:
            async with self._upstream.open(self._ask) as reply:
                await send({"type": "http.response.start", "status": reply.status,
                            "headers": answered(reply.headers)})  # fmt: skip
                if await self._send_body(reply, path, send):
                    await send({"type": "http.response.body", "body": b""})
        except OllamaFailed as error:  # of `open`: what fails later ends in last words
            raise OllamaFailed(f'model "{self._name}" is not in this store, and {error}') from error

    async def _send_body(self, reply: Reply, path: str, send: Send) -> bool:
        """Send on what comes; whether the answer may be called whole.

        Where it may not, the connection ends without its end mark.
        """
        line_ended = True
        try:
            async for chunk in reply.chunks():
                async with asyncio.timeout(self._stall_s):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                line_ended = chunk.endswith(b"\n")
                await asyncio.sleep(0)
        except TimeoutError:
            log.warning("the caller reads nothing; what was passed on to it is stopped")
            return False
        except OllamaFailed as error:
            log.error("%s", error)  # noqa: TRY400  # its cause is logged where it was seen
            words = _last_words(reply, path, error) if line_ended else b""
            if words:
                await send({"type": "http.response.body", "body": words, "more_body": True})
            return bool(words)
        return True


def _last_words(reply: Reply, path: str, error: OllamaFailed) -> bytes:
    """The line or event that ends a stream which broke; empty where there is no room for one."""
    if reply.header("content-length") or reply.header("content-encoding"):
        return b""
    if reply.media_type == "application/x-ndjson":
        return encode_line({"error": str(error)})
    if reply.media_type == "text/event-stream":
        return b"data: " + encode(error_body(error, path)) + b"\n\n"
    return b""


async def merged(
    request: Request, ours: Sequence[msgspec.Struct], target: str, key: str
) -> list[object]:
    """Our entries of a list, then those of the upstream's whose names are not ours.

    `target` is the list's path there, `key` where it stands in the answer. While the upstream is
    down the list is ours alone.
    """
    node = node_of(request)
    if node.upstream is None:
        return list(ours)
    _refuse_round(request, node.upstream)
    theirs = await node.upstream.listed(target, key, _via(request))
    return [*ours, *await asyncio.to_thread(_foreign, node, theirs)]


def _foreign(node: Node, entries: Sequence[dict[str, object]]) -> list[object]:
    """The entries that are not shadowed by a model of ours."""
    found: list[object] = []
    for entry in entries:
        name = entry.get("model") or entry.get("name") or entry.get("id")
        if isinstance(name, str) and not _holds(node, name):
            found.append(entry)
    return found


async def unspoken(request: Request) -> Response:
    """POST to a route of OpenAI's where only a language model has an answer.

    Raises:
        ModelNotFound: The model is not here.
        InvalidRequest: It is, and is a voice.
    """
    body = await read_struct(request, NamedRequest)
    node_of(request).models.resolve(body.model)
    what = request.url.path.removeprefix("/v1/")
    raise InvalidRequest(f'"{body.model}" does not support {what}; use /v1/audio/speech')
