"""Every route has its size and its time, and both are kept."""

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from ollama_tts.config import Settings
from ollama_tts.names import Digest
from ollama_tts.server.http.app import ROUTES, limits
from ollama_tts.server.http.limits import NO_BODY_BYTES, QUICK_S, UNKNOWN, UPLOAD, WORK, Limit
from tests.support.live import LiveServer, serving, settings_for
from tests.support.wire import wire

EVERY = [(verb, path, limit) for verbs, path, limit, _ in ROUTES for verb in verbs.split()]
SETTINGS = Settings()


def filled(path: str) -> str:
    return (
        path.replace("{digest}", "sha256:" + "0" * 64)
        .replace("{name:path}", "a/b")
        .replace("{name}", "x")
        .replace("{key}", "k")
    )


@pytest.mark.parametrize(("verb", "path", "limit"), EVERY)
def test_every_route_has_a_row_that_is_found(verb: str, path: str, limit: Limit) -> None:
    assert limits().of(verb, filled(path)) is limit
    assert 0 < limit.body_bytes(SETTINGS) <= SETTINGS.max_blob_bytes
    assert 0 < limit.body_within_s(SETTINGS) <= 60
    assert 0 < limit.answer_s(SETTINGS) <= 86_400


def test_of_what_has_no_route_little_is_taken() -> None:
    for verb, path in (("GET", "/nope"), ("POST", "/api/tags"), ("OPTIONS", "/api/chat")):
        assert limits().of(verb, path) is UNKNOWN
    assert UNKNOWN.body_bytes(SETTINGS) == NO_BODY_BYTES
    assert UNKNOWN.answer_s(SETTINGS) == QUICK_S


def test_no_limit_of_time_is_one_that_the_operator_asks_for() -> None:
    assert WORK.answer_s(replace(SETTINGS, request_timeout_s=0)) == float("inf")
    assert UPLOAD.answer_s(replace(SETTINGS, request_timeout_s=5)) == 5


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> "LiveServer":  # type: ignore[misc]
    folder = tmp_path_factory.mktemp("limits") / "models"
    settings = replace(settings_for(folder), max_blob_bytes=1_000_000, request_timeout_s=0.5)
    with serving(settings) as server:
        yield server


@pytest.mark.parametrize(("verb", "path", "limit"), [row for row in EVERY if row[0] != "HEAD"])
def test_a_byte_too_many_is_413_on_every_route(
    verb: str, path: str, limit: Limit, small: LiveServer
) -> None:
    size = limit.body_bytes(small.settings) + 1
    with wire(small.address) as connection:
        head = (
            f"{verb} {filled(path)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
        )
        connection.send(head.encode())
        assert connection.head()[0] == 413


LONG = {"model": "tone", "prompt": "Long. " * 100, "options": {"tone_rate": 1.0}}


def test_an_answer_that_takes_too_long_is_504(small: LiveServer) -> None:
    answer = httpx.post(f"{small.url}/api/generate", json={**LONG, "stream": False})
    assert answer.status_code == 504
    assert answer.json() == {"error": "the request took longer than 0.5 s"}
    assert small.read(lambda node: node.scheduler.active) == 0


def test_a_stream_that_takes_too_long_ends_without_its_end_mark(small: LiveServer) -> None:
    with wire(small.address) as connection:
        connection.post("/api/generate", LONG)
        assert connection.head()[0] == 200
        lines: list[bytes] = []
        with pytest.raises(EOFError):
            lines += connection.chunks()
    assert not any(json.loads(line).get("done") for line in b"".join(lines).splitlines())
    small.until(lambda node: node.scheduler.active == 0)


def test_a_rate_is_kept_by_each_caller_and_by_who_guesses(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), rate_limit=2)
    with serving(settings) as server:
        for _ in range(2):
            assert httpx.get(f"{server.url}/api/version").status_code == 200
        refused = httpx.get(f"{server.url}/v1/models")
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        assert refused.json()["error"]["type"] == "rate_limit_error"
        for path in ("/healthz", "/readyz", "/metrics"):
            assert httpx.get(f"{server.url}{path}").status_code == 200


def test_a_store_that_is_full_says_so(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), max_store_bytes=100_000)
    with serving(settings) as server:
        blob = b"x" * 200_000
        url = f"{server.url}/api/blobs/{Digest.of(blob)}"
        refused = httpx.post(url, content=blob)
        assert refused.status_code == 507
        assert "OLLAMA_TTS_MAX_STORE_BYTES" in refused.json()["error"]
        assert httpx.head(url).status_code == 404
        spoken = httpx.post(f"{server.url}/synthesize", json={"model": "tone", "text": "Hi."})
        assert spoken.status_code == 200
