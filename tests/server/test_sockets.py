"""Listening sockets of every form of address."""

import asyncio
import socket

import pytest

from ollama_tts.config import Address, parse_address
from ollama_tts.errors import Failed
from ollama_tts.server.sockets import bind


def bound(address: Address) -> list[tuple[str, int]]:
    sockets = bind(address)
    places = [listening.getsockname()[:2] for listening in sockets]
    for listening in sockets:
        listening.close()
    return places


def has_ip6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_port_0_picks_a_free_one() -> None:
    [(host, port)] = bound(Address("127.0.0.1", 0))
    assert host == "127.0.0.1"
    assert port > 0


async def test_small_writes_are_not_held_back() -> None:
    """Nagle's algorithm is off on the connections that asyncio accepts from our sockets."""
    delayed: asyncio.Queue[int] = asyncio.Queue()

    def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        delayed.put_nowait(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    [listening] = bind(Address("127.0.0.1", 0))
    async with await asyncio.start_server(look, sock=listening) as server:
        host, port = server.sockets[0].getsockname()
        _, writer = await asyncio.open_connection(host, port)
        assert await delayed.get() == 1
        writer.close()
        await writer.wait_closed()


def test_localhost_is_every_loopback_under_one_port() -> None:
    places = bound(Address("localhost", 0))
    assert {host for host, _ in places} <= {"127.0.0.1", "::1"}
    assert len({port for _, port in places}) == 1


@pytest.mark.skipif(not has_ip6(), reason="this machine has no IPv6")
def test_ip6_with_and_without_brackets() -> None:
    for text in ("[::1]:0", "http://[::1]:0/"):
        [(host, _)] = bound(parse_address(text))
        assert host == "::1"


@pytest.mark.skipif(not has_ip6(), reason="this machine has no IPv6")
def test_the_ip6_wildcard_takes_ip4_too() -> None:
    [listening] = bind(Address("::", 0))
    with listening, socket.create_connection(("127.0.0.1", listening.getsockname()[1]), 10):
        pass


def test_an_address_in_use_is_named() -> None:
    [first] = bind(Address("127.0.0.1", 0))
    port = first.getsockname()[1]
    with first, pytest.raises(Failed) as caught:
        bind(Address("127.0.0.1", port))
    words = f"listen tcp 127.0.0.1:{port}: bind: address already in use (OLLAMA_HOST)"
    assert str(caught.value) == words


def test_a_foreign_address_is_named() -> None:
    with pytest.raises(Failed, match=r"listen tcp 192\.0\.2\.1:5: bind: cannot assign"):
        bind(Address("192.0.2.1", 5))


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(Failed, match=r"listen tcp no-such-host\.invalid:5: "):
        bind(Address("no-such-host.invalid", 5))
