"""`/api/*` that keeps models: tags, ps, show, copy, delete, pull, push, create, blobs."""

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp

from ollama_tts.errors import Cancelled, DigestMismatch, InvalidRequest, OllamaTTSError
from ollama_tts.names import Digest
from ollama_tts.protocol.codec import encode_line
from ollama_tts.protocol.ollama import (
    CopyRequest,
    CreateRequest,
    DeleteRequest,
    ProgressResponse,
    PullRequest,
    PushRequest,
    ShowRequest,
)
from ollama_tts.server.http.asking import node_of
from ollama_tts.server.http.body import read_struct
from ollama_tts.server.http.errors import error_line, status_of
from ollama_tts.server.http.proxy import merged
from ollama_tts.server.http.reply import NDJSON, PLAIN_JSON, empty_reply, json_reply
from ollama_tts.server.http.stream import Chunks, Head, Streaming, Waiting
from ollama_tts.server.reasons import text_of
from ollama_tts.service.events import Progress


async def tags(request: Request) -> Response:
    """GET /api/tags: our models, then those of the Ollama behind us."""
    ours = await node_of(request).models.list()
    return json_reply({"models": await merged(request, ours.models, "/api/tags", "models")})


async def ps(request: Request) -> Response:
    """GET /api/ps: likewise."""
    ours = node_of(request).models.ps()
    return json_reply({"models": await merged(request, ours.models, "/api/ps", "models")})


async def show(request: Request) -> Response:
    """POST /api/show."""
    return json_reply(await node_of(request).models.show(await read_struct(request, ShowRequest)))


async def copy(request: Request) -> Response:
    """POST /api/copy: 200 without a body."""
    await node_of(request).models.copy(await read_struct(request, CopyRequest))
    return empty_reply()


async def delete(request: Request) -> Response:
    """DELETE /api/delete: 200 without a body."""
    await node_of(request).models.delete(await read_struct(request, DeleteRequest))
    return empty_reply()


async def pull(request: Request) -> ASGIApp:
    """POST /api/pull."""
    body = await read_struct(request, PullRequest)
    return progress_reply(node_of(request).models.pull(body), stream=body.stream)


async def push(request: Request) -> ASGIApp:
    """POST /api/push."""
    body = await read_struct(request, PushRequest)
    return progress_reply(node_of(request).models.push(body), stream=body.stream)


async def create(request: Request) -> ASGIApp:
    """POST /api/create."""
    body = await read_struct(request, CreateRequest)
    return progress_reply(node_of(request).creates.create(body), stream=body.stream)


def progress_reply(steps: AsyncIterator[Progress], *, stream: bool) -> ASGIApp:
    """A line for each step, or only the last one, as one object."""
    if stream:
        return Streaming(_lines(steps), error_line)
    return Waiting(functools.partial(_last, steps))


async def _lines(steps: AsyncIterator[Progress]) -> Chunks:
    async with aclosing(_closable(steps)) as progress:
        first = await anext(progress)
        yield Head(NDJSON)
        yield encode_line(_struct(first))
        async for step in progress:
            yield encode_line(_struct(step))


async def _last(steps: AsyncIterator[Progress]) -> Response:
    """The last step as one object; the status is the error's, also where it came late."""
    last: Progress | None = None
    try:
        async with aclosing(_closable(steps)) as progress:
            async for step in progress:
                last = step
                await asyncio.sleep(0)
    except OllamaTTSError as error:
        if last is None:
            raise
        return json_reply({"error": text_of(error)}, status_of(error), media_type=PLAIN_JSON)
    assert last is not None
    return json_reply(_struct(last), media_type=PLAIN_JSON)


async def _closable(steps: AsyncIterator[Progress]) -> AsyncGenerator[Progress, None]:
    """The same steps; closing this closes what makes them."""
    try:
        async for step in steps:
            yield step
    finally:
        if isinstance(steps, AsyncGenerator):
            await steps.aclose()


def _struct(step: Progress) -> ProgressResponse:
    return ProgressResponse(
        status=step.status, digest=step.digest, total=step.total, completed=step.completed
    )


async def blob(request: Request) -> Response:
    """HEAD and POST /api/blobs/DIGEST: is it there; put it there.

    A blob that is there already is answered 200 without reading the body.
    """
    digest = Digest.parse(request.path_params["digest"])
    blobs = node_of(request).store.blobs
    if request.method == "HEAD":
        return empty_reply(200 if blobs.offer(digest) else 404)
    try:
        new = await blobs.add_stream(digest, request.stream())
    except DigestMismatch as error:
        raise InvalidRequest(str(error)) from error
    except ClientDisconnect as error:
        raise Cancelled("the caller left before the end of its blob") from error
    return empty_reply(201 if new else 200)
