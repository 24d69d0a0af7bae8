"""`Talk`: one stream. One task reads requests into a conversation, one writes what comes of it."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import aclosing

import grpc
from google.protobuf.message import DecodeError

from ollama_tts.errors import Cancelled, InvalidRequest, OllamaTTSError
from ollama_tts.node import Node
from ollama_tts.protocol.pb.tts_pb2 import Control, TtsRequest, TtsResponse
from ollama_tts.server.default import default_model
from ollama_tts.server.draining import Draining
from ollama_tts.server.keys import check_key
from ollama_tts.server.reasons import text_of
from ollama_tts.server.rpc.asking import Wishes
from ollama_tts.server.rpc.errors import Leaving, is_the_callers, number_of, retry_after_s
from ollama_tts.server.rpc.sounding import Sounding
from ollama_tts.server.sides import both, until_draining
from ollama_tts.service.conversation import (
    Conversation,
    ConversationEvent,
    TurnCancelled,
    TurnFailed,
)
from ollama_tts.service.events import (
    AudioChunk,
    SpeechDone,
    SpeechEvent,
    SpeechRequest,
    SpeechStarted,
)

Context = grpc.aio.ServicerContext[TtsRequest, TtsResponse]

LEAVING = "the server is shutting down; open a new stream"
STALL_S = 300.0
"""How long a caller may leave responses unread before the stream is given up."""
LAST_S = 5.0
"""How long a stream that ends waits for the response that is on its way."""


class Talk:
    """One caller's stream of turns."""

    def __init__(self, node: Node, context: Context, draining: Draining) -> None:
        self._context = context
        self._draining = draining
        told = dict(context.invocation_metadata() or ())
        client_id = str(told.get("x-client-id", ""))
        self._wishes = Wishes(node, default_model(node), _caller(node, context), client_id)
        self._conversation = Conversation(node.turn, SpeechRequest("", ""))
        self._soundings: dict[int, Sounding] = {}
        self._client_ts = 0
        self._cancels = 0
        self._spoke = False
        self._failure: Exception | None = None

    async def run(self) -> None:
        """Serve the stream to its end.

        Raises:
            OllamaTTSError: What the stream ends with, where that is not OK.
        """
        await both(self._read(), self._write())
        if self._failure is not None:
            raise self._failure

    async def _read(self) -> None:
        """Take requests until the caller closes its side or the server drains.

        Raises:
            InvalidRequest: The caller closed its side and never sent any text.
        """
        reading = until_draining(lambda: _read_one(self._context), self._draining)
        async with aclosing(reading) as requests:
            async for request in requests:
                await self._take(request)
        if self._draining.begun.is_set():
            self._failure = Leaving(LEAVING)
        elif not self._spoke:
            raise InvalidRequest("the stream ended without any text")
        await self._conversation.end()
        self._conversation.close()

    async def _take(self, request: TtsRequest) -> None:
        self._client_ts = request.client_ts or self._client_ts
        self._wishes.take(request)
        if request.control == Control.CANCEL:
            self._cancels += 1
            self._conversation.cancel()
        if request.text:
            await self._say(request.text)
        if request.control == Control.FLUSH:
            await self._conversation.flush()
        if request.control == Control.END:
            await self._conversation.end()

    async def _say(self, text: str) -> None:
        self._spoke = True
        self._conversation.ask = self._wishes.ask(remaining_s(self._context))
        turn = await self._conversation.say(text)
        if turn is not None and turn not in self._soundings:
            self._soundings[turn] = Sounding(turn, opus=self._wishes.opus)

    async def _write(self) -> None:
        async with aclosing(self._conversation.events()) as events:
            async for event in events:
                await self._send(event)

    async def _send(self, event: ConversationEvent) -> None:
        sounding = self._soundings.get(event.turn)
        if sounding is None:
            return  # cancelled while its last response was on its way
        if isinstance(event, TurnCancelled):
            await self._end(sounding, sounding.end("cancel"))
        elif isinstance(event, TurnFailed):
            await self._fail(sounding, event.error)
        else:
            await self._speech(sounding, event.event)

    async def _speech(self, sounding: Sounding, event: SpeechEvent) -> None:
        match event:
            case SpeechStarted():
                sounding.start(event.audio.sample_rate_hz)
            case AudioChunk():
                await self._sound(sounding.chunk(event))
            case SpeechDone():
                if await self._sound(sounding.rest()):
                    last = sounding.end(event.done_reason)
                    last.duration_s, last.first_audio_ms = event.duration_s, event.first_audio_ms
                    await self._end(sounding, last)

    async def _sound(self, responses: Iterator[TtsResponse]) -> bool:
        """Send them one by one; False, and the rest is not sent, once the turn is cancelled."""
        cancels = self._cancels
        for response in responses:
            await self._put(response)
            if self._cancels != cancels:
                return False
        return True

    async def _fail(self, sounding: Sounding, error: OllamaTTSError) -> None:
        """Tell of a turn's failure; the stream goes on where only the turn was at fault."""
        last = sounding.end()
        last.error.code = number_of(error)
        last.error.message = text_of(error)
        last.error.retry_after_s = retry_after_s(error)
        await self._end(sounding, last)
        if not is_the_callers(error):
            raise error
        self._failure = self._failure or error

    async def _end(self, sounding: Sounding, last: TtsResponse) -> None:
        """A turn's one last response. How the stream ends is up to the turns that follow."""
        del self._soundings[sounding.turn]
        if not isinstance(self._failure, Leaving):
            self._failure = None
        await self._put(last)

    async def _put(self, response: TtsResponse) -> None:
        """Send a response, to its end whoever ends the stream meanwhile.

        gRPC cannot send a status after half a message; the caller would wait for it in vain.
        """
        response.client_ts = self._client_ts
        writing = asyncio.ensure_future(self._context.write(response))
        try:
            await asyncio.wait({writing}, timeout=STALL_S)
        except asyncio.CancelledError:
            await asyncio.wait({writing}, timeout=LAST_S)
            raise
        finally:
            given_up = writing.cancel()
        if given_up:
            raise Cancelled("the responses are not read; the stream is given up")
        writing.result()


async def _read_one(context: Context) -> TtsRequest | None:
    try:
        request: object = await context.read()
    except DecodeError:
        raise InvalidRequest("a message is not a TtsRequest of ollama_tts.v1") from None
    return request if isinstance(request, TtsRequest) else None


def remaining_s(context: Context) -> float:
    """Seconds to the call's deadline, down to 0; infinite where the caller sets none."""
    given: object = context.time_remaining()  # None, whatever its stub says
    return given if isinstance(given, int | float) else math.inf


def _caller(node: Node, context: Context) -> str:
    """The name of the stream's key; without keys its address."""
    given = dict(context.invocation_metadata() or ())
    key = check_key(node.settings.api_keys, str(given.get("authorization", "")))
    return key or _host(context.peer())


def _host(peer: str) -> str:
    """`127.0.0.1` of `ipv4:127.0.0.1:50000`."""
    return peer.partition(":")[2].rpartition(":")[0]
