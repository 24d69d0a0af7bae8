"""What a request may send: how much, and how slowly."""

import asyncio
import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from ollama_tts.config import Settings
from ollama_tts.errors import InvalidRequest, TooLarge
from ollama_tts.server.http.errors import BodyTimeout
from ollama_tts.server.http.limits import BLOB_PROGRESS_BYTES, Limit

LINGER_S = 5.0
LINGER_BYTES = 256 * 1024 * 1024


class Intake:
    """Counts and times one request's body while the application reads it.

    A JSON body must be there within `body_timeout_s`; of a blob, however long, 64 KiB must come
    that often. `complete` is True when the body was read to its end.
    """

    def __init__(
        self,
        receive: Receive,
        settings: Settings,
        limit: Limit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._receive = receive
        self._clock = clock
        self._timeout_s = limit.body_within_s(settings)
        self._blob = limit.body == "blob"
        self._progress_bytes = 0
        self._deadline_s = clock() + self._timeout_s
        self._taken_bytes = 0
        self.limit_bytes = limit.body_bytes(settings)
        self.complete = False

    async def receive(self) -> Message:
        """The next message of the request.

        Raises:
            TooLarge: More bytes than `limit_bytes`.
            BodyTimeout: Too slow.
        """
        if self.complete:
            return await self._receive()
        message = await self._in_time()
        if message["type"] != "http.request":
            return message
        self._taken_bytes += len(message.get("body", b""))
        if self._taken_bytes > self.limit_bytes:
            raise _too_large(self.limit_bytes)
        self.complete = not message.get("more_body", False)
        if self._blob and self._taken_bytes - self._progress_bytes >= BLOB_PROGRESS_BYTES:
            self._progress_bytes = self._taken_bytes
            self._deadline_s = self._clock() + self._timeout_s
        return message

    async def _in_time(self) -> Message:
        try:
            async with asyncio.timeout(max(0.0, self._deadline_s - self._clock())):
                return await self._receive()
        except TimeoutError:
            raise BodyTimeout(
                f"the request's body did not come within {self._timeout_s:g} s"
            ) from None


def check_length(headers: Headers, limit_bytes: int) -> None:
    """Refuse a body by its announced length, before a byte of it is read.

    Raises:
        TooLarge: Longer than `limit_bytes`.
        InvalidRequest: The length is not a number.
    """
    announced = headers.get("content-length")
    if announced is None:
        return
    if not announced.isdecimal():
        raise InvalidRequest(f"Content-Length {announced[:40]!r} is not a number")
    if int(announced) > limit_bytes:
        raise _too_large(limit_bytes)


def _too_large(limit_bytes: int) -> TooLarge:
    return TooLarge(f"the request's body is larger than {limit_bytes} bytes")


async def linger(receive: Receive) -> None:
    """Read on after a refusal and throw away what comes, for a short while.

    Closing on unread bytes resets the connection, and the caller, still sending, would never
    read the answer (nginx: lingering_close).
    """
    taken_bytes = 0
    try:
        async with asyncio.timeout(LINGER_S):
            while taken_bytes < LINGER_BYTES:
                message = await receive()
                taken_bytes += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return
