"""`Pool`: httpx's transport, reading as much at once as lies ready.

httpx asks for 64 KiB at a time, and every read passes through httpcore, anyio and h11. Asyncio
has up to 256 KiB ready; taken whole, a gigabyte costs 0.9 s of a core instead of 1.5.
"""

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx
from typing_extensions import override

READ_BYTES = 256 * 1024


class Pool(httpx.AsyncHTTPTransport):
    """Connections straight to servers; belongs to one event loop."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(verify=context)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=_Wide(),
        )


class _Wide(httpcore.AnyIOBackend):
    """Opens connections whose plain reads are large; TLS has its own records."""

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _WideStream(stream)


class _WideStream(httpcore.AsyncNetworkStream):
    """A connection that reads more than it was asked to."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    @override
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max(max_bytes, READ_BYTES), timeout)

    @override
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()

    @override
    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return await self._inner.start_tls(ssl_context, server_hostname, timeout)

    @override
    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
