"""A small Ollama on loopback: streams tokens as scripted, fails, stalls, and sees who leaves.

What a model answers is a script: texts are tokens, the other steps are what can go wrong.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

PATIENCE_S = 30.0
STAMP = "2026-11-30T12:00:00.123456789Z"


@dataclass(frozen=True)
class Wait:
    """The answer stands still here until the test lets it go on."""

    gate: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Thought:
    """A token of thinking, in its own field."""

    text: str


@dataclass(frozen=True)
class ErrorLine:
    """The answer ends in an error line."""

    text: str


@dataclass(frozen=True)
class Bytes:
    """What no Ollama would send."""

    data: bytes


@dataclass(frozen=True)
class Cut:
    """The connection breaks off."""


@dataclass(frozen=True)
class Refusal:
    """The answer is a status."""

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recorded:
    """The answer is these bytes, sent in pieces that keep to no border."""

    status: int
    media_type: str
    body: bytes
    piece_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", self.media_type.encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        for start in range(0, len(self.body), self.piece_bytes):
            piece = self.body[start : start + self.piece_bytes]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


Step = str | Wait | Thought | ErrorLine | Bytes | Cut | Refusal | Recorded


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value

    def header(self, name: str) -> list[str]:
        return [text for key, text in self.headers if key == name]


class FakeOllama:
    """`models` maps names to scripts; names that are not there are answered 404."""

    def __init__(self, models: Mapping[str, Sequence[Step]]) -> None:
        self.models = dict(models)
        self.done_reason = "stop"
        self.seen: list[Seen] = []
        self.left = 0
        self.lists_stall = False
        self._changed = threading.Condition()
        self._up: Future[None] = Future()
        self._closing = False
        routes = [
            Route("/api/tags", self._tags),
            Route("/api/ps", self._ps),
            Route("/v1/models", self._openai_models),
            Route("/v1/models/{name}", self._echo),
            Route("/api/generate", self._generate, methods=["POST"]),
            Route("/api/chat", self._chat, methods=["POST"]),
            Route("/v1/chat/completions", self._completions, methods=["POST"]),
            *(
                Route(path, self._echo, methods=["POST"])
                for path in ("/api/show", "/api/embed", "/api/embeddings", "/v1/completions",
                             "/v1/embeddings", "/v1/responses")
            ),
        ]  # fmt: skip
        self._server = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=routes),
                host="127.0.0.1",
                port=0,
                log_level="critical",
                lifespan="off",
                ws="none",
            )
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return int(self._server.servers[0].sockets[0].getsockname()[1])

    def asked(self, path: str) -> list[Seen]:
        """The requests for a path, in order."""
        return [seen for seen in self.seen if seen.path == path]

    def until(self, true: Callable[["FakeOllama"], bool]) -> None:
        """Return as soon as something is true; fail if it never is."""
        with self._changed:
            assert self._changed.wait_for(lambda: true(self), PATIENCE_S)

    @contextmanager
    def up(self) -> Iterator["FakeOllama"]:
        self._thread.start()
        self._up.result(PATIENCE_S)
        try:
            yield self
        finally:
            self.stop()

    def stop(self) -> None:
        """Go down, whatever is being answered."""
        self._closing = True
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        serving = asyncio.ensure_future(self._server.serve())
        while not self._server.started and not serving.done():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        self._up.set_result(None)
        await serving

    async def _note(self, request: Request) -> Seen:
        headers = [(name.decode(), text.decode()) for name, text in request.headers.raw]
        seen = Seen(
            request.method, request.url.path, request.url.query, headers, await request.body()
        )
        with self._changed:
            self.seen.append(seen)
            self._changed.notify_all()
        return seen

    async def _tags(self, request: Request) -> Response:
        await self._note(request)
        while self.lists_stall and not self._closing:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return JSONResponse({"models": [_listed(name) for name in self.models]})

    async def _ps(self, request: Request) -> Response:
        await self._note(request)
        running = [{**_listed(name), "expires_at": STAMP, "size_vram": 5, "context_length": 4096}
                   for name in self.models]  # fmt: skip
        return JSONResponse({"models": running})

    async def _openai_models(self, request: Request) -> Response:
        await self._note(request)
        data = [{"id": name, "object": "model", "created": 1, "owned_by": "library"}
                for name in self.models]  # fmt: skip
        return JSONResponse({"object": "list", "data": data})

    def _recorded(self, name: str) -> Recorded | None:
        first = next(iter(self.models.get(_tagged(name), ())), None)
        return first if isinstance(first, Recorded) else None

    async def _echo(self, request: Request) -> Response | Recorded:
        """Says what was asked, with header fields to be kept and others to be dropped."""
        seen = await self._note(request)
        name = request.path_params.get("name") or seen.json["model"] or seen.json["name"]
        if recorded := self._recorded(name):
            return recorded
        if _tagged(name) not in self.models:
            return JSONResponse({"error": f"model '{name}' not found"}, 404)
        headers = {
            "X-Kept": "yes",
            "Set-Cookie": "a=b",
            "Keep-Alive": "timeout=5",
            "Connection": "keep-alive, X-Dropped",
            "X-Dropped": "yes",
            "X-Request-Id": "theirs",
            "Access-Control-Allow-Origin": "http://theirs",
        }
        body = {"path": seen.path, "query": seen.query, "asked": seen.body.decode()}
        return JSONResponse(body, 201, headers, "application/json; charset=utf-8")

    async def _generate(self, request: Request) -> "_Told | Recorded | Response":
        return await self._tell(request, lambda text: {"response": text}, "response")

    async def _chat(self, request: Request) -> "_Told | Recorded | Response":
        def said(text: str) -> dict[str, Any]:
            return {"message": {"role": "assistant", "content": text}}

        return await self._tell(request, said, "message")

    async def _tell(
        self, request: Request, said: Callable[[str], dict[str, Any]], key: str
    ) -> "_Told | Recorded | Response":
        seen = await self._note(request)
        name = seen.json["model"]
        if recorded := self._recorded(name):
            return recorded
        steps = self.models.get(_tagged(name), (Refusal(404, f"model '{name}' not found"),))
        if seen.json.get("stream") is False and not isinstance(steps[0], Refusal):
            text = "".join(step for step in steps if isinstance(step, str))
            return JSONResponse({"model": name, "created_at": STAMP, **said(text), "done": True})
        base = {"model": name, "created_at": STAMP}

        def line(step: str | Thought | None) -> bytes:
            if isinstance(step, Thought):
                inner = {"thinking": step.text, "content": "", "role": "assistant"}
                value = {**base, "done": False,
                         **({"message": inner} if key == "message"
                            else {"response": "", "thinking": step.text})}  # fmt: skip
            elif step is None:
                value = {**base, **said(""), "done": True, "done_reason": self.done_reason,
                         "total_duration": 9, "eval_count": 3}  # fmt: skip
            else:
                value = {**base, **said(step), "done": False}
            return json.dumps(value, ensure_ascii=False).encode() + b"\n"

        return _Told(self, steps, line, "application/x-ndjson")

    async def _completions(self, request: Request) -> "_Told | Recorded":
        seen = await self._note(request)
        if recorded := self._recorded(seen.json["model"]):
            return recorded

        def event(step: str | Thought | None) -> bytes:
            if step is None:
                return b"data: [DONE]\n\n"
            text = step if isinstance(step, str) else ""
            return f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n".encode()

        return _Told(self, self.models[_tagged(seen.json["model"])], event, "text/event-stream")

    def note_leaving(self) -> None:
        with self._changed:
            self.left += 1
            self._changed.notify_all()


class _Told:
    """A scripted answer; counts a caller who leaves before its end."""

    def __init__(
        self,
        ollama: FakeOllama,
        steps: Sequence[Step],
        line: Callable[[str | Thought | None], bytes],
        media_type: str,
    ) -> None:
        self._ollama = ollama
        self._steps = steps
        self._line = line
        self._media_type = media_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = self._steps[0]
        if isinstance(first, Refusal):
            refused = JSONResponse({"error": first.text}, first.status, first.headers)
            await refused(scope, receive, send)
            return
        telling = asyncio.ensure_future(self._tell(send))
        leaving = asyncio.ensure_future(receive())
        await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not telling.done():
            telling.cancel()
            self._ollama.note_leaving()
        leaving.cancel()
        await asyncio.gather(telling, leaving, return_exceptions=True)

    async def _tell(self, send: Send) -> None:
        headers = [(b"content-type", self._media_type.encode()), (b"x-kept", b"yes")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for data in self._lines():
            if data is None:
                return  # uvicorn closes the connection
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _lines(self) -> AsyncIterator[bytes | None]:
        for step in self._steps:
            match step:
                case Wait():
                    while not step.gate.is_set():  # noqa: ASYNC110  # by the test's thread
                        await asyncio.sleep(0.002)
                case ErrorLine():
                    yield json.dumps({"error": step.text}).encode() + b"\n"
                    return
                case Bytes():
                    yield step.data
                case Cut():
                    yield None
                case Refusal() | Recorded():
                    raise AssertionError("a whole answer stands first")
                case _:
                    yield self._line(step)
        yield self._line(None)


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _listed(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "model": name,
        "modified_at": STAMP,
        "size": 5,
        "digest": "ab" * 32,
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "qwen3",
            "families": ["qwen3"],
            "parameter_size": "8B",
            "quantization_level": "Q4_K_M",
        },
        "future_field": {"kept": [1, 2.5, "ü"]},
    }
