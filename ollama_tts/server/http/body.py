"""Reading a request's JSON body."""

from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from ollama_tts.errors import Cancelled
from ollama_tts.protocol.codec import decode

T = TypeVar("T", bound=msgspec.Struct)


async def read(request: Request) -> bytes:
    """The body, whatever its Content-Type; the guard has set its limits.

    Raises:
        Cancelled: The caller left before its end.
        TooLarge: Over the limit.
        BodyTimeout: Too slow.
    """
    try:
        return await request.body()
    except ClientDisconnect as error:
        raise Cancelled("the caller left before the end of its body") from error


async def read_struct(request: Request, kind: type[T]) -> T:
    """The struct in a JSON body.

    Raises:
        InvalidRequest: With Go's decoder texts.
        Cancelled: As `read`; so are TooLarge and BodyTimeout.
    """
    return decode(await read(request), kind)
