"""Listening sockets of an address."""

import errno
import os
import socket
from contextlib import ExitStack

from ollama_tts.config import Address
from ollama_tts.errors import Failed

BACKLOG = 2048
FIRST_PROBE_S, PROBE_S, PROBES = 60, 20, 3
"""When a silent connection is asked whether its peer is there, how often, and how many times."""
UNHEARD_S = 300
"""How long what was sent may stay unacknowledged: as long as a paused player may leave it."""


def bind(address: Address, name: str = "OLLAMA_HOST") -> list[socket.socket]:
    """A bound socket for every meaning of the host: `localhost` has an IPv4 and an IPv6 one.

    `::` takes IPv4 too. Port 0 picks a free one, the same for all. `name` is the
    variable that holds the address.

    Raises:
        Failed: The address is in use, foreign or unknown; the text names it (Go's words).
    """
    with ExitStack() as opened:
        bound: list[socket.socket] = []
        for family, host in _meanings(address, name):
            port = bound[0].getsockname()[1] if bound else address.port
            listening = opened.enter_context(_socket(family))
            try:
                _bind(listening, host, port)
            except OSError as error:
                if bound and error.errno == errno.EADDRNOTAVAIL:
                    continue  # a machine without IPv6 has a localhost all the same
                raise _failed(address, error, name) from error
            bound.append(listening)
        opened.pop_all()
        return bound


def _socket(family: socket.AddressFamily) -> socket.socket:
    """A TCP socket that says so: only then asyncio turns Nagle's delay off for its connections.

    With it each short answer would wait 40 ms for the acknowledgement of the one before.
    """
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)


def _meanings(address: Address, name: str) -> list[tuple[socket.AddressFamily, str]]:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise _failed(address, error, name) from error
    return list(dict.fromkeys((family, str(place[0])) for family, _, _, _, place in found))


def _bind(listening: socket.socket, host: str, port: int) -> None:
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listening.family == socket.AF_INET6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
    _notice_vanished_peers(listening)
    listening.bind((host, port))
    listening.listen(BACKLOG)
    listening.settimeout(0.0)


def _notice_vanished_peers(listening: socket.socket) -> None:
    """Let the kernel end connections whose peer is gone without a word; accepted ones inherit it.

    It asks only where nothing waits for an acknowledgement, so that has a limit too.
    """
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", FIRST_PROBE_S),
        ("TCP_KEEPINTVL", PROBE_S),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", UNHEARD_S * 1000),
    ):
        if hasattr(socket, name):  # not all systems know all of them
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _failed(address: Address, error: OSError, name: str) -> Failed:
    shown = address.url.partition("://")[2]
    if error.errno is not None and error.errno > 0:
        reason = os.strerror(error.errno).lower()
        return Failed(f"listen tcp {shown}: bind: {reason} ({name})")
    return Failed(f"listen tcp {shown}: {error.args[-1]} ({name})")
