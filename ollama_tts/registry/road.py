"""`Road`: the way to a host, through a proxy or straight to an address that was looked at.

A host's name is resolved here, once, and the connection goes to the very address that was
checked, so that a name cannot mean one thing to the check and another to the connection. Behind
a proxy the names are the proxy's to resolve; then only literal addresses are checked.
"""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx
from typing_extensions import override

from ollama_tts.config import Proxies
from ollama_tts.errors import InvalidOption
from ollama_tts.registry.addresses import Resolve, is_public, literal
from ollama_tts.registry.pool import Pool

if TYPE_CHECKING:
    import ssl

TRUSTED = "ollama_tts_trusted"  # request extension: this host may lie at any address
PROXY = "ollama_tts_proxy"  # response extension: host and port of the proxy it came through
MAX_HOSTS = 32


class PrivateAddress(httpx.ConnectError):
    """A host that nobody named lies at an address that is not public."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, in the system's order.

    Raises:
        OSError: The name does not resolve.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Road(httpx.AsyncBaseTransport):
    """Carries requests; connections are kept per host and belong to one event loop."""

    def __init__(self, proxies: Proxies, resolve: Resolve = resolve) -> None:
        self._proxies = proxies
        self._resolve = resolve
        self._ways: dict[str, _Way] = {}
        self._context: ssl.SSLContext | None = None

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One request to one host; redirects are the caller's.

        Raises:
            PrivateAddress: The host is not trusted and lies in a private network.
            httpx.TransportError: What went wrong on the way.
            InvalidOption: The proxy setting cannot be used.
        """
        url = request.url
        trusted = bool(request.extensions.get(TRUSTED))
        proxy = self.proxy(url)
        if proxy:
            if not trusted and literal(url.host) is not None and not is_public(url.host):
                raise PrivateAddress(f"{url.host} is not a public address")
            return await self._through(proxy, request)
        return await self._direct(request, trusted=trusted)

    def proxy(self, url: httpx.URL) -> str:
        """The proxy that a request goes through, as it was set; empty where it goes straight."""
        return proxy_for(self._proxies, url)

    async def _through(self, proxy: str, request: httpx.Request) -> httpx.Response:
        try:
            response = await self._send(await self._way(request.url, proxy), request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise httpx.ProxyError("the proxy does not answer") from error
        if response.status_code == 407:
            await response.aclose()
            raise httpx.ProxyError("407 Proxy Authentication Required")
        response.extensions = {**response.extensions, PROXY: place_of(proxy)}
        return response

    async def _direct(self, request: httpx.Request, *, trusted: bool) -> httpx.Response:
        """Try the host's addresses in turn until one takes the connection."""
        url = request.url
        addresses = await self._addresses(url)
        if not trusted and not all(is_public(address) for address in addresses):
            raise PrivateAddress(f"{url.host} is not at a public address")
        way = await self._way(url, "")
        for address in addresses[:-1]:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await self._send(way, _pinned(request, address))
        return await self._send(way, _pinned(request, addresses[-1]))

    async def _addresses(self, url: httpx.URL) -> Sequence[str]:
        if literal(url.host) is not None:
            return [url.host]
        try:
            found = await self._resolve(url.host, url.port or 0)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "no such host"
            raise httpx.ConnectError(f"lookup {url.host}: {reason}") from error
        if not found:
            raise httpx.ConnectError(f"lookup {url.host}: no such host")
        return found

    async def _send(self, way: "_Way", request: httpx.Request) -> httpx.Response:
        way.busy += 1
        try:
            response = await way.transport.handle_async_request(request)
        except BaseException:
            way.busy -= 1
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Body(response.stream, way)
        return response

    async def _way(self, url: httpx.URL, proxy: str) -> "_Way":
        """The connections to a host: pinned by address, so never shared between names."""
        key = f"{url.scheme}://{url.netloc.decode()} {proxy}"
        if self._context is None:  # reads hundreds of certificates
            self._context = await asyncio.to_thread(httpx.create_ssl_context)
        way = self._ways.pop(key, None) or _Way(self._transport(proxy, self._context))
        idle = [key for key, way in self._ways.items() if not way.busy]
        for old in idle[: max(0, len(self._ways) + 1 - MAX_HOSTS)]:
            await self._ways.pop(old).transport.aclose()
        self._ways[key] = way
        return way

    def _transport(self, proxy: str, context: "ssl.SSLContext") -> httpx.AsyncHTTPTransport:
        if not proxy:
            return Pool(context)
        try:
            return httpx.AsyncHTTPTransport(verify=context, proxy=proxy)
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise InvalidOption(
                "the proxy setting cannot be used; allowed: http://HOST:PORT, https://HOST:PORT, "
                "and socks5://HOST:PORT where httpx[socks] is installed"
            ) from error

    @override
    async def aclose(self) -> None:
        """Close all connections."""
        for way in self._ways.values():
            await way.transport.aclose()
        self._ways.clear()


class _Way:
    """The connections to one host; `busy` counts the answers that are being read."""

    def __init__(self, transport: httpx.AsyncHTTPTransport) -> None:
        self.transport = transport
        self.busy = 0


class _Body(httpx.AsyncByteStream):
    """An answer's body, which keeps its connections from being closed as idle."""

    def __init__(self, inner: httpx.AsyncByteStream, way: _Way) -> None:
        self._inner = inner
        self._way: _Way | None = way

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            yield chunk

    @override
    async def aclose(self) -> None:
        if self._way is not None:
            self._way.busy -= 1
            self._way = None
        await self._inner.aclose()


def _pinned(request: httpx.Request, address: str) -> httpx.Request:
    """The same request to one address; certificate and Host stay those of the name."""
    if request.url.host == address:
        return request
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


def place_of(proxy: str) -> str:
    """Host and port of a proxy, without who logs in there; empty for none."""
    try:
        return httpx.URL(proxy).netloc.decode() if proxy else ""
    except httpx.InvalidURL:
        return ""


def proxy_for(proxies: Proxies, url: httpx.URL) -> str:
    """The proxy that a request to `url` goes through; empty where it goes straight."""
    proxy = {"http": proxies.http, "https": proxies.https}.get(url.scheme, "")
    if not proxy or any(_covers(entry, url) for entry in proxies.direct):
        return ""
    return proxy


def _covers(entry: str, url: httpx.URL) -> bool:
    """Whether an entry of NO_PROXY covers a URL: `*`, host, .domain, address, network, :port."""
    if entry == "*":
        return True
    host, separator, port = entry.lower().rpartition(":")
    if separator and port.isdecimal() and "/" not in entry and (":" not in host or "]" in host):
        if (url.port or {"http": 80, "https": 443}[url.scheme]) != int(port):
            return False
    else:
        host = entry.lower()
    address = literal(url.host)
    if address is not None:
        with suppress(ValueError):
            return address in ipaddress.ip_network(host.strip("[]"), strict=False)
        return False
    domain = host.lstrip("*").lstrip(".")
    return bool(domain) and (url.host == domain or url.host.endswith(f".{domain}"))
