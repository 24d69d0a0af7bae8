"""The gRPC server: one service, health, reflection, API keys, and an end that drains."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import SERVICE_NAME as HEALTH, aio as health_aio
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from grpc_reflection.v1alpha import reflection
from typing_extensions import override

from ollama_tts.config import Address, ApiKey
from ollama_tts.errors import Failed, OllamaTTSError, Unauthorized
from ollama_tts.node import Node
from ollama_tts.protocol.pb import tts_pb2
from ollama_tts.protocol.pb.tts_pb2 import TtsRequest
from ollama_tts.protocol.pb.tts_pb2_grpc import TtsServicer, add_TtsServicer_to_server
from ollama_tts.server.draining import Draining
from ollama_tts.server.keys import check_key
from ollama_tts.server.rpc.errors import Leaving, code_of, status_of
from ollama_tts.server.rpc.talk import LEAVING, Context, Talk, remaining_s
from ollama_tts.server.tls import read_pem

if TYPE_CHECKING:
    from grpc import RpcMethodHandler as Handler

log = logging.getLogger(__name__)
Q = TypeVar("Q")
A = TypeVar("A")

SERVICE = tts_pb2.DESCRIPTOR.services_by_name["Tts"].full_name
MAX_REQUEST_BYTES = 1024 * 1024
MAX_STREAMS = 4096

_OPTIONS = (
    ("grpc.so_reuseport", 0),  # two servers on one port would share its callers
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    ("grpc.keepalive_time_ms", 60_000),  # a caller whose machine vanished says no goodbye
    ("grpc.keepalive_timeout_ms", 20_000),
)


async def open_rpc(node: Node, address: Address) -> "RpcDoor":
    """Listen; gives the open door.

    Raises:
        Failed: The address cannot be listened on; the text names it.
    """
    door = RpcDoor(node, address)
    await door.start()
    return door


class RpcDoor:
    """The gRPC server of a node. `address` has the port that it got."""

    def __init__(self, node: Node, address: Address) -> None:
        self.address = address
        self._tls = node.settings.tls
        self._draining = Draining()
        self._farewell: asyncio.Task[None] | None = None
        self._health = health_aio.HealthServicer()
        self._server = grpc.aio.server(
            interceptors=[KeyGuard(node.settings.api_keys)],
            options=_OPTIONS,
            maximum_concurrent_rpcs=MAX_STREAMS,
        )
        add_TtsServicer_to_server(  # type: ignore[no-untyped-call]  # made by protoc
            Service(node, self._draining), self._server
        )
        add_HealthServicer_to_server(self._health, self._server)
        names = (SERVICE, HEALTH, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    async def start(self) -> None:
        """Listen, and say that the service serves."""
        shown = self.address.url.partition("//")[2]
        try:
            port = self._listen(shown)
        except RuntimeError as error:
            raise Failed(f"cannot listen on {shown} (OLLAMA_TTS_GRPC_HOST)") from error
        self.address = replace(self.address, port=port)
        await self._server.start()
        for name in ("", SERVICE):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def _listen(self, place: str) -> int:
        if self._tls is None:
            return self._server.add_insecure_port(place)
        chain, key = read_pem(self._tls)
        return self._server.add_secure_port(place, grpc.ssl_server_credentials([(key, chain)]))

    def drain(self, *, now: bool = False) -> None:
        """Take no new stream, and say so; turns that have begun may end, unless `now`."""
        self._draining.begin(now=now)
        if self._farewell is None:
            self._farewell = asyncio.create_task(self._health.enter_graceful_shutdown())

    async def aclose(self) -> None:
        """Drain, then stop."""
        self.drain()
        assert self._farewell is not None
        await self._farewell
        await self._draining.over()
        await self._server.stop(None)


class KeyGuard(grpc.aio.ServerInterceptor):
    """Lets in whom the API keys let in; health is open to all, as over HTTP."""

    def __init__(self, keys: Sequence[ApiKey]) -> None:
        self._keys = keys

    @override
    async def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Awaitable[Handler[Q, A] | None]]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler[Q, A] | None":
        """The handler that was asked for, or one that refuses."""
        if not handler_call_details.method.startswith(f"/{HEALTH}/"):
            given = dict(handler_call_details.invocation_metadata or ())
            try:
                check_key(self._keys, str(given.get("authorization", "")))
            except Unauthorized as error:
                return _refusing(error)
        return await continuation(handler_call_details)


def _refusing(error: Unauthorized) -> "Handler[Q, A]":
    async def refuse(
        requests: AsyncIterator[Q], context: grpc.aio.ServicerContext[Q, A]
    ) -> AsyncIterator[A]:
        del requests
        answers: tuple[A, ...] = ()
        for answer in answers:
            yield answer
        await _abort(context, error)

    return grpc.stream_stream_rpc_method_handler(refuse)


class Service(TtsServicer):
    """`ollama_tts.v1.Tts`."""

    def __init__(self, node: Node, draining: Draining) -> None:
        self._node = node
        self._draining = draining

    @override
    async def Synthesize(  # the name is the service's
        self, requests: AsyncIterator[TtsRequest], context: Context
    ) -> None:
        """Serve one stream and end it with its one status."""
        del requests  # read through the context, so that waiting for one can be given up
        started_s = time.monotonic()
        try:
            with self._draining.work():
                await self._talk(context)
        except asyncio.CancelledError:
            self._ended(_left(context), started_s)
            raise
        except Exception as error:  # the gRPC boundary: nothing unknown gets out
            if not isinstance(error, OllamaTTSError):
                log.exception("unforeseen %s", type(error).__name__)
            self._ended(code_of(error), started_s)
            await _abort(context, error)
        self._ended(grpc.StatusCode.OK, started_s)

    async def _talk(self, context: Context) -> None:
        if self._draining.begun.is_set():
            raise Leaving(LEAVING)
        await Talk(self._node, context, self._draining).run()

    def _ended(self, code: grpc.StatusCode, started_s: float) -> None:
        """Count and log a stream, before its caller can know that it ended."""
        if code not in {grpc.StatusCode.OK, grpc.StatusCode.CANCELLED}:
            self._node.metrics.grpc_error()
        took_ms = (time.monotonic() - started_s) * 1000
        log.info("gRPC Synthesize %s %.1f ms", code.name, took_ms)


def _left(context: Context) -> grpc.StatusCode:
    """Why a call was cancelled: its deadline passed, or its caller left."""
    late = remaining_s(context) <= 0
    return grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.CANCELLED


async def _abort(context: grpc.aio.ServicerContext[Q, A], error: Exception) -> None:
    status = status_of(error)
    await context.abort(status.code, status.details, tuple(status.trailing_metadata or ()))
