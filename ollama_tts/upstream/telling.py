"""`Telling`: one answer of a language model, as it is written.

It is read as fast as it comes, up to `WAITING_PARTS` ahead of the voice: a listener who takes
minutes must not hold the language model's place for as long.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Self

import msgspec

from ollama_tts.errors import Busy, InvalidRequest, OllamaFailed, OllamaTTSError
from ollama_tts.upstream.client import BROKEN, Ask, HeaderLines, Reply, Upstream
from ollama_tts.upstream.thinking import Unthought

WAITING_PARTS = 8192
MAX_LINE_BYTES = 8 * 1024**2
_MAX_ERROR_BYTES = 4096
_MAX_ERROR_CHARS = 400


@dataclass(frozen=True, slots=True)
class Question:
    """What a language model is asked: `body` for `path` (`/api/chat` or `/api/generate`).

    `via` holds the fields that tell which servers the request has come through.
    """

    llm: str
    path: str
    body: Mapping[str, object]
    via: HeaderLines = ()


class _Said(msgspec.Struct):
    content: str = ""


class _Line(msgspec.Struct):
    """What counts of one line of an answer; thinking stands in fields that are not read."""

    response: str = ""
    message: _Said | None = None
    done: bool = False
    done_reason: str = ""
    error: str = ""


_LINES: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)


class Telling:
    """One answer, asked for on entering; leaving closes the request, wherever it is.

    `done_reason` is the language model's own, once `parts` has ended. What goes wrong is raised
    by `begun` or `parts`: OllamaFailed where there is no answer, none that is whole, or a model
    that failed; InvalidRequest where the language model refuses what it was asked; Busy where it
    has no room.
    """

    def __init__(self, upstream: Upstream, question: Question) -> None:
        self._upstream = upstream
        self._question = question
        self._parts: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(WAITING_PARTS)
        self._begun = asyncio.Event()
        self._written = False
        self._reading: asyncio.Task[None]
        self.done_reason = ""

    async def __aenter__(self) -> Self:
        self._reading = asyncio.create_task(self._read())
        self._reading.add_done_callback(self._ended)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._reading.cancel()
        await asyncio.wait({self._reading})

    async def begun(self) -> None:
        """Return when there is text, or the end; thinking is none."""
        await self._begun.wait()
        if not self._written:
            self._reading.result()

    async def parts(self) -> AsyncIterator[str]:
        """The text in order, without thinking."""
        while (part := await self._parts.get()) is not None:
            self._room.release()
            yield part
        self._reading.result()

    def _ended(self, reading: "asyncio.Task[None]") -> None:
        if not reading.cancelled():
            reading.exception()  # seen; it is raised where the text is read
        self._begun.set()
        self._parts.put_nowait(None)

    async def _read(self) -> None:
        spoken = Unthought()
        async with aclosing(self._lines()) as lines:
            async for line in lines:
                said = line.message.content if line.message else line.response
                await self._put(spoken.feed(said))
                if line.done:
                    self.done_reason = line.done_reason
                    await self._put(spoken.finish())
                    return
        raise OllamaFailed(BROKEN)

    async def _put(self, part: str) -> None:
        if part:
            await self._room.acquire()
            self._parts.put_nowait(part)
            self._written = True
            self._begun.set()

    async def _lines(self) -> AsyncGenerator[_Line, None]:
        body = msgspec.json.encode(self._question.body)
        headers = [
            (b"Content-Type", b"application/json"),
            (b"Accept", b"application/x-ndjson"),
            *self._question.via,
        ]
        async with self._upstream.open(Ask("POST", self._question.path, headers, body)) as reply:
            if reply.status != 200:
                raise await self._refused(reply)
            async for data in _split(reply):
                line = self._parse(data)
                if line.error:
                    raise self._failed(line.error)
                yield line

    def _parse(self, data: bytes) -> _Line:
        try:
            return _LINES.decode(data)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._failed("its answer is not understood") from error

    async def _refused(self, reply: Reply) -> OllamaTTSError:
        """The error for a status: what the caller can mend is the caller's."""
        told = _error_text(await _start_of(reply)) or f"status {reply.status}"
        text = str(self._failed(told))
        if reply.status == 503:
            after = reply.header("retry-after")
            return Busy(text, int(after) if after.isdecimal() else 1)
        return InvalidRequest(text) if reply.status == 400 else OllamaFailed(text)

    def _failed(self, text: str) -> OllamaFailed:
        return OllamaFailed(f'the language model "{self._question.llm}" (option llm): {text}')


async def _split(reply: Reply) -> AsyncIterator[bytes]:
    """The lines of a body that are not empty, by line feeds alone."""
    held = b""
    async for chunk in reply.chunks():
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(held) > MAX_LINE_BYTES:
            raise OllamaFailed(f"{BROKEN}: a line is longer than {MAX_LINE_BYTES} bytes")
    if held.strip():
        yield held


async def _start_of(reply: Reply) -> bytes:
    """As much of an error's body as is worth reading."""
    found = b""
    with suppress(OllamaFailed):
        async for chunk in reply.chunks():
            found += chunk
            if len(found) > _MAX_ERROR_BYTES:
                break
    return found[:_MAX_ERROR_BYTES]


def _error_text(body: bytes) -> str:
    """The text of `{"error": text}`, bounded; empty where there is none."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    told = value.get("error") if isinstance(value, dict) else None
    return told[:_MAX_ERROR_CHARS] if isinstance(told, str) else ""
