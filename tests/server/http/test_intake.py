"""How much a request may send, and how slowly."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from ollama_tts.config import Settings
from ollama_tts.errors import InvalidRequest, TooLarge
from ollama_tts.server.http.errors import BodyTimeout
from ollama_tts.server.http.intake import Intake, check_length, linger
from ollama_tts.server.http.limits import BLOB_PROGRESS_BYTES, UPLOAD, WORK

SETTINGS = Settings(max_json_bytes=10, max_blob_bytes=100, body_timeout_s=5)


def part(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


class Sender:
    """The sending end: parts in a row, then the silence of a caller who waits."""

    def __init__(self, *parts: Message) -> None:
        self._parts = self._row(parts)

    async def _row(self, parts: tuple[Message, ...]) -> AsyncIterator[Message]:
        for one in parts:
            yield one
        await asyncio.Event().wait()

    async def receive(self) -> Message:
        return await anext(self._parts)


async def test_a_body_under_the_limit_passes_to_its_end() -> None:
    sender = Sender(part(b"12345"), part(b"67890", more=False), {"type": "http.disconnect"})
    intake = Intake(sender.receive, SETTINGS, WORK)
    seen = [((await intake.receive())["body"], intake.complete) for _ in range(2)]
    assert seen == [(b"12345", False), (b"67890", True)]
    assert (await intake.receive())["type"] == "http.disconnect"


async def test_the_byte_over_the_limit_is_refused() -> None:
    intake = Intake(Sender(part(b"x" * 10), part(b"y")).receive, SETTINGS, WORK)
    await intake.receive()
    with pytest.raises(TooLarge, match="larger than 10 bytes"):
        await intake.receive()


async def test_blobs_have_a_limit_of_their_own() -> None:
    sender = Sender(part(b"x" * 100), part(b"y"))
    intake = Intake(sender.receive, SETTINGS, UPLOAD)
    assert intake.limit_bytes == 100
    await intake.receive()
    with pytest.raises(TooLarge):
        await intake.receive()


async def test_json_must_be_whole_in_time() -> None:
    now = [0.0]
    intake = Intake(Sender(part(b"a")).receive, SETTINGS, WORK, clock=lambda: now[0])
    now[0] = 4.0
    await intake.receive()
    now[0] = 6.0
    with pytest.raises(BodyTimeout, match="within 5 s"):
        await intake.receive()


async def test_a_blob_must_only_keep_coming() -> None:
    now = [0.0]
    settings = replace(SETTINGS, max_blob_bytes=10 * BLOB_PROGRESS_BYTES)
    sender = Sender(*[part(b"a" * BLOB_PROGRESS_BYTES)] * 2, part(b"b"))
    intake = Intake(sender.receive, settings, UPLOAD, clock=lambda: now[0])
    for now[0] in (4.0, 8.0, 12.0):  # the last brings a byte, which is no progress
        await intake.receive()
    now[0] = 14.0
    with pytest.raises(BodyTimeout, match="within 5 s"):
        await intake.receive()


async def test_a_silent_caller_times_out() -> None:
    settings = replace(SETTINGS, body_timeout_s=0.01)
    with pytest.raises(BodyTimeout):
        await Intake(Sender().receive, settings, WORK).receive()


def test_the_announced_length_is_checked() -> None:
    check_length(Headers({}), 10)
    check_length(Headers({"content-length": "10"}), 10)
    with pytest.raises(TooLarge):
        check_length(Headers({"content-length": "11"}), 10)
    with pytest.raises(InvalidRequest, match="is not a number"):
        check_length(Headers({"content-length": "-1"}), 10)


async def test_lingering_ends_with_the_body_or_the_caller() -> None:
    await linger(Sender(part(b"x"), part(b"y", more=False)).receive)
    await linger(Sender(part(b"x"), {"type": "http.disconnect"}).receive)
