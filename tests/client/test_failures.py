"""Both clients against a server that fails as scripted."""

import json
import socket

import anyio
import pytest

from ollama_tts.client import AsyncClient, Backoff, Client
from ollama_tts.errors import (
    BatchFailed,
    Busy,
    Failed,
    GenerationFailed,
    InvalidRequest,
    NotFound,
    Unauthorized,
    Unreachable,
    UpstreamFailed,
)
from tests.support.scripted_http import Reply, Script

FULL = Reply(503, b'{"error": "server busy"}', {"Retry-After": "2"})
SOUND = Reply(body=b'{"response": "AAEC", "done": true}')
CUT = Reply(cut=True)
STEADY = Backoff(retries=3, first_s=1.0, jitter=lambda: 1.0)


def test_a_full_queue_is_asked_again_when_it_says(scripted: Script) -> None:
    server = scripted(FULL, FULL, SOUND)
    waits: list[float] = []
    with Client(server.host, backoff=STEADY, sleep=waits.append) as client:
        assert client.synthesize("Hi.") == b"\x00\x01\x02"
    assert waits == [3.0, 4.0]
    assert len({request.body for request in server.requests}) == 1


async def test_a_full_queue_is_asked_again_when_it_says_async(scripted: Script) -> None:
    server = scripted(FULL, FULL, SOUND)
    waits: list[float] = []

    async def sleep(delay_s: float) -> None:
        waits.append(delay_s)

    async with AsyncClient(server.host, backoff=STEADY, sleep=sleep) as client:
        assert await client.synthesize("Hi.") == b"\x00\x01\x02"
    assert waits == [3.0, 4.0]
    assert len(server.requests) == 3


def test_at_last_the_server_s_own_words_are_raised(scripted: Script) -> None:
    server = scripted(FULL)
    with (
        Client(server.host, backoff=STEADY, sleep=lambda _: None) as client,
        pytest.raises(Busy, match="server busy") as raised,
    ):
        client.synthesize("Hi.")
    assert raised.value.retry_after_s == 2
    assert len(server.requests) == 4


def test_a_connection_that_breaks_before_an_answer_is_tried_again(scripted: Script) -> None:
    server = scripted(CUT, SOUND)
    with Client(server.host, backoff=STEADY, sleep=lambda _: None) as client:
        assert list(client.stream("Hi.")) == [b"\x00\x01\x02"]
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, InvalidRequest), (401, Unauthorized), (404, NotFound), (500, Failed)],
)
def test_a_refusal_is_not_asked_again(scripted: Script, status: int, kind: type[Exception]) -> None:
    server = scripted(Reply(status, b'{"error": "no"}'))
    with Client(server.host, sleep=lambda _: None) as client, pytest.raises(kind, match="no"):
        client.synthesize("Hi.")
    assert len(server.requests) == 1


def test_nobody_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
        waits: list[float] = []
        with (
            Client(host, backoff=STEADY, sleep=waits.append) as client,
            pytest.raises(Unreachable, match=f"could not connect to http://{host}"),
        ):
            client.version()
    assert waits == [1.0, 2.0, 4.0]


PIECE = b'{"response": "AAEC", "done": false}\n'


def test_a_stream_without_its_end_is_a_failure(scripted: Script) -> None:
    server = scripted(Reply(body=PIECE))
    with Client(server.host) as client:
        pieces = client.stream("Hi.")
        assert next(pieces) == b"\x00\x01\x02"
        with pytest.raises(GenerationFailed, match="before its end record"):
            next(pieces)


def test_a_stream_that_breaks_is_not_started_again(scripted: Script) -> None:
    server = scripted(Reply(body=PIECE, short=True), SOUND)
    with Client(server.host, sleep=lambda _: None) as client:
        pieces = client.stream("Hi.")
        assert next(pieces) == b"\x00\x01\x02"
        with pytest.raises(Unreachable, match="broke"):
            next(pieces)
    assert len(server.requests) == 1


async def test_a_stream_that_breaks_is_not_started_again_async(scripted: Script) -> None:
    server = scripted(Reply(body=PIECE, short=True), SOUND)
    async with AsyncClient(server.host) as client:
        pieces = client.stream("Hi.")
        assert await anext(pieces) == b"\x00\x01\x02"
        with pytest.raises(Unreachable, match="broke"):
            await anext(pieces)
    assert len(server.requests) == 1


def test_an_error_inside_a_stream_is_raised(scripted: Script) -> None:
    server = scripted(Reply(body=PIECE + b'{"error": "the voice broke"}\n'))
    with Client(server.host) as client, pytest.raises(GenerationFailed, match="the voice broke"):
        list(client.stream("Hi."))


def test_silence_has_an_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        host = f"127.0.0.1:{mute.getsockname()[1]}"
        with (
            Client(host, timeout_s=0.05) as client,
            pytest.raises(UpstreamFailed, match="fell silent"),
        ):
            client.version()


def test_a_stranger_on_the_port_is_named_as_such(scripted: Script) -> None:
    server = scripted(Reply(body=b"<html>welcome</html>"))
    with Client(server.host) as client:
        with pytest.raises(UpstreamFailed, match="does not parse"):
            client.list()
        with pytest.raises(UpstreamFailed, match="does not parse"):
            client.pull("hibari")


def test_an_operation_needs_its_success(scripted: Script) -> None:
    server = scripted(
        Reply(body=b'{"status": "pulling manifest"}\n'),
        Reply(body=b'{"status": "pulling manifest"}\n{"error": "file does not exist"}\n'),
    )
    seen: list[str] = []
    with Client(server.host) as client:
        with pytest.raises(UpstreamFailed, match="success"):
            client.pull("m", lambda progress: seen.append(progress.status))
        with pytest.raises(Failed, match="file does not exist"):
            client.pull("m")
    assert seen == ["pulling manifest"]


def test_the_key_travels(scripted: Script) -> None:
    server = scripted(Reply(body=b'{"version": "1"}'))
    with Client(server.host, api_key="secret") as client:
        client.version()
    assert server.requests[0].headers["Authorization"] == "Bearer secret"


def test_a_batch_names_its_failures(scripted: Script) -> None:
    bad = Reply(400, b'{"error": "cannot say that"}')
    server = scripted(SOUND, bad, SOUND)
    with (
        Client(server.host) as client,
        pytest.raises(BatchFailed, match="1 of 3 texts failed: text 1: cannot say that") as raised,
    ):
        client.batch(["a", "b", "c"], concurrency=1)
    assert raised.value.results == [b"\x00\x01\x02", None, b"\x00\x01\x02"]
    assert [json.loads(request.body)["prompt"] for request in server.requests] == ["a", "b", "c"]


async def test_leaving_a_stream_closes_its_connection(scripted: Script) -> None:
    server = scripted(Reply(body=PIECE * 1000), SOUND)
    async with AsyncClient(server.host, connections=1) as client:
        pieces = client.stream("Hi.")
        await anext(pieces)
        await pieces.aclose()
        with anyio.fail_after(10):  # the only connection is free again
            assert await client.synthesize("again") == b"\x00\x01\x02"
