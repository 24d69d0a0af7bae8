"""Ollama's own behaviour on the wire, case by case, as data (`tests/data/ollama-conformance.json`).

Where this server differs on purpose, `DIFFERENCES` says how and why.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ollama_tts.names import Digest
from tests.support.live import LiveServer, serving, settings_for

DATA = json.loads((Path(__file__).parent.parent / "data/ollama-conformance.json").read_text())
CASES: list[dict[str, Any]] = DATA["cases"]
HELLO = Digest.of(b"hello")

DIFFERENCES: dict[str, dict[str, Any]] = {
    # A redirected POST loses its body in many clients (rule 10): the route serves it as it is.
    "trailing_slash_redirect": {"expect_status": 200, "needs": ["model"]},
    # An unknown voice is refused by name (public report pc-024), so the case needs a known one.
    "v1_audio_speech_absent_in_ollama": {
        "body": {"model": "test", "input": "hi", "voice": "tone"},
        "expect_content_type": "audio/mpeg",
    },
    # An error is JSON on every /api route, the router's own included (rule 10).
    "show_wrong_method": {"expect_content_type": "application/json; charset=utf-8"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with serving(settings_for(tmp_path_factory.mktemp("conformance") / "models")) as live:
        yield live


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any], server: LiveServer) -> None:
    case = {**case, **DIFFERENCES.get(case["name"], {})}
    with httpx.Client(base_url=server.url, timeout=60) as client:
        prepare(case.get("needs", []), server, client)
        answer = client.request(
            case["method"],
            case["path"],
            headers={"Content-Type": "application/json", **case.get("headers", {})},
            content=body_of(case),
        )
    expected = case["expect_status"]
    assert answer.status_code in (expected if isinstance(expected, list) else [expected]), (
        answer.text
    )
    check_body(case, answer)


def prepare(needs: list[str], server: LiveServer, client: httpx.Client) -> None:
    """Make the fixtures that a case names true."""
    if "model" in needs:
        assert client.post("/api/copy", json={"source": "tone", "destination": "test"}).is_success
    if "blob" in needs:
        assert client.post(f"/api/blobs/{HELLO}", content=b"hello").is_success
    if "no_blob" in needs:
        server.read(lambda node: node.store.blobs.remove(HELLO))
    if "nothing_loaded" in needs:
        for model in client.get("/api/ps").json()["models"]:
            client.post("/api/generate", json={"model": model["name"], "keep_alive": 0})
    if "loaded" in needs:
        for keep_alive in (0, 60):  # whoever loads it gives the shared weights their name in ps
            client.post("/api/generate", json={"model": "test", "keep_alive": keep_alive})


def body_of(case: dict[str, Any]) -> bytes | None:
    if "raw_body" in case:
        return str(case["raw_body"]).encode()
    return None if case["body"] is None else json.dumps(case["body"]).encode()


def check_body(case: dict[str, Any], answer: httpx.Response) -> None:
    for part in case.get("expect_body_contains", []):
        assert part in answer.text
    for part in case.get("expect_body_not_contains", []):
        assert part not in answer.text
    if "expect_keys" in case:
        assert set(case["expect_keys"]) <= answer.json().keys()
    if "expect_content_type" in case:
        assert answer.headers["content-type"] == case["expect_content_type"]
    if "expect_stream" in case:
        check_stream(case["expect_stream"], answer.text)


def check_stream(expected: dict[str, Any], text: str) -> None:
    assert text.endswith("\n")
    lines = text.removesuffix("\n").split("\n")
    objects = [json.loads(line) for line in lines]  # a blank line does not parse
    for one in objects:
        assert set(expected["every_line_keys"]) <= one.keys()
    assert expected["last_line"].items() <= objects[-1].items()


def test_the_note_of_a_case_about_cors_holds(server: LiveServer) -> None:
    origin = "http://localhost:3000"
    answer = httpx.get(f"{server.url}/api/version", headers={"Origin": origin})
    assert answer.headers["access-control-allow-origin"] == origin


def test_a_deleted_model_is_no_longer_listed(server: LiveServer) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        prepare(["model"], server, client)
        body = {"model": "", "name": "test"}
        answer = client.request("DELETE", "/api/delete", json=body)
        assert (answer.status_code, answer.content) == (200, b"")
        names = [model["name"] for model in client.get("/api/tags").json()["models"]]
        assert "test:latest" not in names
