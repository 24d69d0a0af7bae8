"""/synthesize and /generate: a text in, a WAV file out."""

import io
import wave
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer, serving, settings_for
from tests.support.tone_listener import listen_s16

HI = "Hi there."


def heard(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    assert answer.content.count(b"RIFF") == 1
    return listen_s16(answer.content[44:], 24_000).replace(" ", "")


def test_synthesize_streams_a_wav(http: httpx.Client) -> None:
    answer = http.post("/synthesize", json={"text": HI, "model": "tone"})
    assert answer.headers["content-type"] == "audio/wav"
    assert answer.headers["transfer-encoding"] == "chunked"
    assert heard(answer) == "Hithere."


@pytest.mark.parametrize("body", [{"text": ""}, {"text": " \n\t"}, {}, {"text": None}])
def test_blank_text_is_refused(body: dict[str, object], http: httpx.Client) -> None:
    answer = http.post("/synthesize", json=body)
    assert answer.status_code == 400
    assert "'text'" in answer.json()["error"]


def test_options_are_taken_and_the_file_stays_wav(http: httpx.Client) -> None:
    options = {"speed": 2.0, "audio_format": "mp3", "sample_rate": 48_000}
    body = {"text": HI, "model": "tone", "options": options}
    answer = http.post("/synthesize", json=body)
    with wave.open(io.BytesIO(answer.content)) as read:
        assert read.getframerate() == 48_000


def test_an_unknown_model_is_a_404(http: httpx.Client) -> None:
    answer = http.post("/synthesize", json={"text": HI, "model": "nope"})
    assert (answer.status_code, answer.json()) == (404, {"error": "model 'nope' not found"})


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "One two.", "model": "tone"},
        [{"prompt": "One two.", "model": "tone"}],
        [{"prompt": "One", "model": "tone"}, {"prompt": "two.", "model": "tone"}],
        [
            {"prompt": "One", "model": "tone", "options": {"pause_ms": 10}},
            {"prompt": "two.", "model": "tone", "options": {"pause_ms": 20}},
        ],
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_generate_speaks_items_in_order_into_one_file(
    body: dict[str, Any] | list[dict[str, Any]], stream: bool, http: httpx.Client
) -> None:
    items = body if isinstance(body, list) else [body]
    first = {**items[0], "stream": stream}
    sent = [first, *items[1:]] if isinstance(body, list) else first
    answer = http.post("/generate", json=sent)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert heard(answer) == "Onetwo."
    if not stream:
        with wave.open(io.BytesIO(answer.content)) as read:
            assert read.getnframes() * 2 == len(answer.content) - 44


def test_texts_alone_are_spoken_by_the_default_model(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), default_model="tone")
    with serving(settings) as server:
        answer = httpx.post(f"{server.url}/generate", json=["One.", "Two.", "Three."], timeout=60)
        assert heard(answer) == "One.Two.Three."
        name = "ollama_tts_requests_total"
        assert server.metric(name, surface="synthesize", outcome="ok") == 1


def test_the_default_model_is_hibari(live: LiveServer) -> None:
    with httpx.Client(base_url=live.url, timeout=60) as http:
        http.request("DELETE", "/api/delete", json={"model": "hibari"})
        assert http.post("/synthesize", json={"text": HI}).status_code == 404
        assert http.post("/api/copy", json={"source": "tone", "destination": "hibari"}).is_success
        assert heard(http.post("/synthesize", json={"text": HI})) == "Hithere."


@pytest.mark.parametrize("body", [[], [5], [{"prompt": ""}], {"prompt": " "}, "  ", 5, [None]])
def test_what_holds_no_text_is_refused(body: object, http: httpx.Client) -> None:
    answer = http.post("/generate", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_too_many_items_are_refused(http: httpx.Client) -> None:
    assert http.post("/generate", json=["x"] * 1001).status_code == 413


@pytest.mark.parametrize("silent", ["…", "\U0001f600 \U0001f389", "```\ncode()\n```", "-- ! --"])
@pytest.mark.parametrize("stream", [True, False])
def test_no_item_is_left_out_in_silence(silent: str, stream: bool, http: httpx.Client) -> None:
    items = [{"prompt": "One.", "model": "tone", "stream": stream}, "Two.", silent]
    answer = http.post("/generate", json=items)
    assert answer.status_code == 400
    assert answer.json() == {"error": "item 2 of the array holds nothing that can be spoken"}
