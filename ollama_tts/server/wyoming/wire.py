"""Wyoming's events from a socket: a line of JSON, then data and payload of the lengths it tells.

The library's own reader takes lengths at their word; here they are bounded.
"""

import asyncio
from typing import Final, TypeVar

import msgspec
from wyoming.event import Event

from ollama_tts.errors import InvalidRequest, TooLarge

Kind = TypeVar("Kind")

MAX_LINE_BYTES: Final = 64 * 1024
MAX_DATA_BYTES: Final = 4 * 1024 * 1024


class _Head(msgspec.Struct):
    type: str
    data: dict[str, object] = {}
    data_length: int | None = None
    payload_length: int | None = None


async def read_event(reader: asyncio.StreamReader) -> Event | None:
    """The next event without its payload, which no event to a voice has; None at the end.

    `reader` must have the limit `MAX_LINE_BYTES`.

    Raises:
        InvalidRequest: This is not the Wyoming protocol.
        TooLarge: A line, data or payload over its bound.
    """
    try:
        line = await reader.readline()
    except ValueError:
        raise TooLarge(f"an event's line is longer than {MAX_LINE_BYTES} bytes") from None
    if not line:
        return None
    head = _decode(line, _Head)
    data = await _exactly(reader, head.data_length, "data_length")
    await _exactly(reader, head.payload_length, "payload_length")
    return Event(head.type, head.data | (_decode(data, dict[str, object]) if data else {}))


async def _exactly(reader: asyncio.StreamReader, length: int | None, name: str) -> bytes:
    if not length:
        return b""
    if not 0 < length <= MAX_DATA_BYTES:
        raise TooLarge(f"{name} {length} must be from 0 to {MAX_DATA_BYTES}")
    return await reader.readexactly(length)


def _decode(data: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"not an event of the Wyoming protocol: {error}") from None
