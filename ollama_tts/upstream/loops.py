"""An upstream that is this server itself, known by address before the first request."""

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from ollama_tts.errors import InvalidRequest

Place = tuple[str, int]


def refuse_loop(url: str, listening: Sequence[Place]) -> None:
    """Check that an upstream is none of the places (address, port) where this server listens.

    Loops that no address shows (through a proxy, or two servers behind each other) are known by
    `Via` when a request comes back.

    Raises:
        InvalidRequest: It is one of them.
    """
    if not url:
        return
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)
    ours = [ipaddress.ip_address(address) for address, here in listening if here == port]
    if ours and any(_reaches(there, ours) for there in _addresses(host, port)):
        raise InvalidRequest(
            f"OLLAMA_UPSTREAM {url} is this server itself; let one of the two listen elsewhere "
            "(OLLAMA_HOST)"
        )


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _addresses(host: str, port: int) -> list[_Address]:
    """What a host means; nothing where it means nothing, which is no loop."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found]


def _reaches(there: _Address, ours: Sequence[_Address]) -> bool:
    there = getattr(there, "ipv4_mapped", None) or there
    return there in ours or (any(here.is_unspecified for here in ours) and _is_local(there))


def _is_local(address: _Address) -> bool:
    """Whether an address is one of this machine's: only those can be bound."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
