"""Which header fields pass from one connection to the next (RFC 9110, 7.6.1)."""

from collections.abc import Iterable, Set

from ollama_tts.upstream.client import HeaderLines

_HOP_BY_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization",
    b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
})  # fmt: skip
# Of the connection itself, or judged at our door: the guard has decided on the Origin.
_ASKED = frozenset({b"content-length", b"expect", b"host", b"origin"})
# Fields that this server writes into every answer itself.
_ANSWERED = frozenset({b"date", b"x-request-id"})
_CORS = b"access-control-"


def asked(headers: HeaderLines, *, with_key: bool) -> list[tuple[bytes, bytes]]:
    """The fields of a request that are passed on.

    `with_key` False keeps back `Authorization`, where it holds this server's own key.
    """
    kept_back = _ASKED if with_key else _ASKED | {b"authorization"}
    return _without(headers, kept_back)


def answered(headers: HeaderLines) -> list[tuple[bytes, bytes]]:
    """The fields of an answer that are passed on."""
    passed = _without(headers, _ANSWERED)
    return [(name, text) for name, text in passed if not name.lower().startswith(_CORS)]


def _without(headers: HeaderLines, names: Set[bytes]) -> list[tuple[bytes, bytes]]:
    kept_back = names | _HOP_BY_HOP | set(_named(headers))
    return [(name, text) for name, text in headers if name.lower() not in kept_back]


def _named(headers: HeaderLines) -> Iterable[bytes]:
    """What `Connection` declares to be of this connection alone."""
    for name, text in headers:
        if name.lower() == b"connection":
            yield from (token.strip().lower() for token in text.split(b","))
