"""Callers who leave: streaming, whole, queued, loading, and while everything is cached (pc-056).

The proof that work is freed is the node's own account: no lease, no queue, one `cancelled`.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer, serving, settings_for
from tests.support.wire import Wire, lines_of, wire

LONG = "This text takes long to say. " * 400
SLOW: dict[str, Any] = {"tone_rate": 1.0}  # minutes of sound at the speed of speech


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[LiveServer]:
    """A server that speaks one request at a time."""
    with serving(replace(settings_for(tmp_path / "models"), num_parallel=1)) as server:
        yield server


def ask(connection: Wire, path: str = "/api/generate", **fields: object) -> None:
    connection.post(path, {"model": "tone", "prompt": LONG, "options": SLOW, **fields})


def idle(server: LiveServer) -> None:
    server.until(lambda node: node.scheduler.active == 0 and node.scheduler.queue_depth == 0)


def cancelled(server: LiveServer, surface: str = "generate") -> float:
    return server.metric("ollama_tts_requests_total", surface=surface, outcome="cancelled")


def speaks(server: LiveServer) -> None:
    """The server answers the next request in full."""
    body = {"model": "tone", "prompt": "Next one."}
    lines = lines_of(httpx.post(f"{server.url}/api/generate", json=body, timeout=60).content)
    assert lines[-1]["done"] is True


def test_leaving_a_stream_frees_its_work(live: LiveServer) -> None:
    with wire(live.address) as connection:
        ask(connection)
        assert connection.head()[0] == 200
        connection.chunk()
    idle(live)
    assert cancelled(live) == 1
    speaks(live)


@pytest.mark.parametrize(
    ("path", "surface", "body"),
    [
        ("/api/generate", "generate", {"prompt": LONG}),
        ("/api/chat", "chat", {"messages": [{"role": "user", "content": LONG}]}),
        ("/v1/audio/speech", "openai", {"input": LONG}),
        ("/generate", "synthesize", {"prompt": LONG}),
    ],
)
def test_leaving_a_whole_answer_frees_its_work(
    path: str, surface: str, body: dict[str, Any], live: LiveServer
) -> None:
    with wire(live.address) as connection:
        connection.post(path, {"model": "tone", "options": SLOW, "stream": False, **body})
        live.until(lambda node: node.scheduler.active == 1)
    idle(live)
    assert cancelled(live, surface) == 1
    speaks(live)


@pytest.mark.parametrize("accept", ["audio/wav", "text/event-stream"])
def test_leaving_the_raw_file_and_the_events_frees_their_work(
    accept: str, live: LiveServer
) -> None:
    body = {"model": "tone", "prompt": LONG, "options": SLOW}
    with wire(live.address) as connection:
        connection.post("/api/generate", body, f"Accept: {accept}")
        assert connection.head()[0] == 200
        connection.chunk()
    idle(live)
    assert cancelled(live, "raw" if accept == "audio/wav" else "sse") == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_caller_who_leaves_the_queue_never_speaks(stream: bool, narrow: LiveServer) -> None:
    with wire(narrow.address) as speaking:
        ask(speaking)
        speaking.head()
        with wire(narrow.address) as queued:
            ask(queued, stream=stream)
            narrow.until(lambda node: node.scheduler.queue_depth == 1)
        narrow.until(lambda node: node.scheduler.queue_depth == 0)
        assert narrow.read(lambda node: node.scheduler.active) == 1
        assert lines_of(speaking.chunk())[-1]["done"] is False  # the other one never notices
    idle(narrow)
    assert cancelled(narrow) == 2
    speaks(narrow)


def test_a_caller_who_leaves_during_the_load_disturbs_nobody_who_waits_for_it(
    live: LiveServer,
) -> None:
    """pc-057: three ask, the first leaves while the model loads, the second unloads afterwards."""
    options = {"tone_load_s": 2.0}
    with wire(live.address) as second, wire(live.address) as third:
        with wire(live.address) as first:
            ask(first, prompt="First.", options=options)
            live.until(lambda node: node.scheduler.queue_depth == 1)
            ask(second, prompt="Second.", options=options, keep_alive=0)
            ask(third, prompt="Third.", options=options)
            live.until(lambda node: node.scheduler.queue_depth == 3)
        live.until(lambda node: node.scheduler.queue_depth == 2)
        for waiting in (second, third):
            status, _, body = waiting.answer()
            assert status == 200
            assert lines_of(body)[-1]["done_reason"] == "stop"
    assert live.metric("ollama_tts_load_seconds_count") == 1
    assert cancelled(live) == 1


def test_a_load_that_nobody_waits_for_any_more_is_given_up(live: LiveServer) -> None:
    with wire(live.address) as connection:
        ask(connection, options={"tone_load_s": 600.0})
        live.until(lambda node: bool(node.scheduler.loaded()))
    idle(live)
    live.until(lambda node: not node.scheduler.loaded())
    speaks(live)


def test_leaving_a_load_without_text_frees_it(live: LiveServer) -> None:
    with wire(live.address) as connection:
        ask(connection, prompt="", options={"tone_load_s": 600.0})
        live.until(lambda node: bool(node.scheduler.loaded()))
    live.until(lambda node: not node.scheduler.loaded())


def test_leaving_while_nothing_ever_suspends_does_not_hold_the_server(live: LiveServer) -> None:
    """A fully cached answer is ready at once, line after line; the loop still gets its turn."""
    body = {"model": "tone", "prompt": LONG}
    first = lines_of(httpx.post(f"{live.url}/api/generate", json=body, timeout=120).content)
    cached = first[-1]["audio"]["utterances"]
    for _ in range(3):
        with wire(live.address) as connection:
            connection.post("/api/generate", body)
            connection.head()
            connection.chunk()
        assert httpx.get(f"{live.url}/api/version", timeout=30).status_code == 200
    idle(live)
    again = lines_of(httpx.post(f"{live.url}/api/generate", json=body, timeout=120).content)
    assert again[-1]["audio"]["cache_hits"] == cached


def test_others_are_served_while_a_whole_answer_of_cached_sound_is_put_together(
    live: LiveServer,
) -> None:
    body = {"model": "tone", "prompt": LONG, "stream": False}
    httpx.post(f"{live.url}/api/generate", json=body, timeout=120)
    done = threading.Event()

    def again() -> None:
        httpx.post(f"{live.url}/api/generate", json=body, timeout=120)
        done.set()

    thread = threading.Thread(target=again)
    thread.start()
    while not done.is_set():
        assert httpx.get(f"{live.url}/healthz", timeout=30).status_code == 200
    thread.join()


def test_nothing_of_a_cancelled_answer_is_cached(live: LiveServer) -> None:
    sentence = "A sentence that is left in its middle, long enough to be left."
    with wire(live.address) as connection:
        ask(connection, prompt=sentence)
        connection.head()
        connection.chunk()
    idle(live)
    body = {"model": "tone", "prompt": sentence, "stream": False}
    answer = httpx.post(f"{live.url}/api/generate", json=body, timeout=60).json()
    assert answer["audio"]["cache_hits"] == 0


def test_leaving_in_the_middle_of_a_body_does_no_harm(live: LiveServer) -> None:
    with wire(live.address) as connection:
        head = "POST /api/generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        connection.send(head.encode() + b'{"model":"tone","prompt":"')
    with wire(live.address) as connection:
        digest = "sha256:" + "0" * 64
        head = (
            f"POST /api/blobs/{digest} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        )
        connection.send(head.encode() + b"part of it")
    speaks(live)
    assert httpx.head(f"{live.url}/api/blobs/{digest}").status_code == 404
