"""Sound on /api/generate and /api/chat: whose it is, how it is framed, in every form."""

import base64
import io
import json
import wave
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.tone_listener import listen_s16
from tests.support.wire import lines_of, wire

TEXT = "One is first. Two is next. Three is last."
HEADER = 44
METRICS = {
    "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count",
    "eval_duration",
}  # fmt: skip


def generate(http: httpx.Client, **fields: object) -> httpx.Response:
    body = {"model": "tone", "prompt": TEXT, **fields}
    return http.post("/api/generate", json=body)


def chat(http: httpx.Client, content: object = TEXT, **fields: object) -> httpx.Response:
    messages = [{"role": "user", "content": content}]
    return http.post("/api/chat", json={"model": "tone", "messages": messages, **fields})


Door = Callable[..., httpx.Response]


def heard(file: bytes) -> str:
    return listen_s16(file[HEADER:], 24_000)


def text_of(line: dict[str, Any]) -> str:
    return str(line["message"]["content"] if "message" in line else line["response"])


@pytest.mark.parametrize("door", [generate, chat])
def test_the_concatenation_of_a_stream_is_one_file_that_says_the_text(
    door: Door, http: httpx.Client
) -> None:
    lines = lines_of(door(http).content)
    file = base64.b64decode("".join(text_of(line) for line in lines))
    assert file[:4] == b"RIFF"
    assert file.count(b"RIFF") == 1
    assert file[4:8] == file[40:44] == b"\xff\xff\xff\xff"
    assert heard(file).replace(" ", "") == TEXT.replace(" ", "")


@pytest.mark.parametrize("door", [generate, chat])
def test_each_chunk_decodes_alone(door: Door, http: httpx.Client) -> None:
    *chunks, _, last = lines_of(door(http).content)
    parts = [base64.b64decode(text_of(line)) for line in chunks]
    assert all(len(part) % 48 == 0 for part in parts)
    assert sum(map(len, parts)) > 10_000
    assert text_of(last) == ""


def test_lines_of_base64_have_64_characters(http: httpx.Client) -> None:
    text = "".join(line["response"] for line in lines_of(generate(http).content))
    *full, rest = text.removesuffix("\n").split("\n")
    assert {len(line) for line in full} == {64}
    assert 0 < len(rest) <= 64


@pytest.mark.parametrize("door", [generate, chat])
def test_streamed_and_whole_sound_are_equal(door: Door, http: httpx.Client) -> None:
    streamed = base64.b64decode("".join(map(text_of, lines_of(door(http).content))))
    whole = base64.b64decode(text_of(door(http, stream=False).json()))
    assert streamed[HEADER:] == whole[HEADER:]


def test_a_whole_file_has_its_true_sizes(http: httpx.Client) -> None:
    answer = generate(http, stream=False)
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    body = answer.json()
    file = base64.b64decode(body["response"])
    assert int.from_bytes(file[4:8], "little") == len(file) - 8
    with wave.open(io.BytesIO(file)) as read:
        assert read.getnframes() == (len(file) - HEADER) // 2
        assert read.getnframes() / 24_000 == pytest.approx(body["audio"]["duration_s"], abs=1e-3)


@pytest.mark.parametrize("door", [generate, chat])
def test_exactly_one_end_record_is_sent_last(door: Door, http: httpx.Client) -> None:
    answer = door(http)
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = lines_of(answer.content)
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    last = lines[-1]
    assert last["done_reason"] == "stop"
    assert last.keys() >= METRICS
    assert all(isinstance(last[name], int) and last[name] > 0 for name in METRICS)
    assert {line["model"] for line in lines} == {"tone"}


def test_audio_tells_where_each_chunk_lies_and_what_it_says(http: httpx.Client) -> None:
    *chunks, last = lines_of(generate(http).content)
    said = [line["audio"]["text"] for line in chunks if line["audio"]["text"]]
    assert "".join(said).replace(" ", "") == TEXT.replace(" ", "")
    assert len(said) == last["audio"]["utterances"]
    end_s = 0.0
    for line in chunks:
        audio = line["audio"]
        assert (audio["format"], audio["mime_type"]) == ("wav", "audio/wav")
        assert (audio["sample_rate"], audio["channels"]) == (24_000, 1)
        assert audio["start_s"] == pytest.approx(end_s, abs=1e-5)
        end_s = audio["start_s"] + audio["duration_s"]
    assert last["audio"]["duration_s"] == pytest.approx(end_s, abs=1e-4)
    assert last["audio"]["voice"] == "tone"
    assert len(last["audio"]["model_digest"]) == 64
    assert {"cache_hits", "first_audio_ms"} <= last["audio"].keys()


def test_lines_stay_short_and_ascii_whatever_the_text(http: httpx.Client) -> None:
    prompt = "嗨 \u2028 \u0085 <b>&amp;</b> 😀 Hello there. " * 40
    content = generate(http, prompt=prompt).content
    assert content.isascii()
    assert max(map(len, content.split(b"\n"))) <= 48 * 1024
    lines_of(content)


def test_a_large_chunk_is_cut_into_lines_that_stay_short(http: httpx.Client) -> None:
    options = {"audio_format": "flac", "sample_rate": 48_000}
    content = generate(http, prompt=TEXT * 30, options=options).content
    lines = lines_of(content)
    assert max(map(len, content.split(b"\n"))) <= 48 * 1024
    file = base64.b64decode("".join(line["response"] for line in lines))
    assert file[:4] == b"fLaC"
    assert file.count(b"fLaC") == 1


def test_headers_let_proxies_pass_each_line_on(http: httpx.Client) -> None:
    answer = generate(http)
    assert answer.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in answer.headers
    assert "content-length" not in answer.headers


def test_created_at_is_rfc_3339_in_utc(http: httpx.Client) -> None:
    stamps = [line["created_at"] for line in lines_of(generate(http).content)]
    assert all(len(stamp) == 30 and stamp.endswith("Z") for stamp in stamps)
    assert stamps == sorted(stamps)


ACCEPTED = [
    ("audio/wav", "audio/wav", b"RIFF"),
    ("audio/flac", "audio/flac", b"fLaC"),
    ("audio/ogg", "audio/ogg", b"OggS"),
    ("audio/mpeg", "audio/mpeg", b"\xff"),
    ("audio/aac", "audio/aac", b"\xff\xf1"),
    ("audio/pcm", "audio/pcm", b""),
    ("audio/*", "audio/wav", b"RIFF"),
    ("application/octet-stream", "audio/wav", b"RIFF"),
    ("audio/webm, audio/ogg;q=0.9, */*;q=0.5", "audio/ogg", b"OggS"),
]


@pytest.mark.parametrize(("accept", "mime_type", "magic"), ACCEPTED)
@pytest.mark.parametrize("stream", [True, False])
def test_accept_asks_for_the_raw_file(
    accept: str, mime_type: str, magic: bytes, stream: bool, http: httpx.Client
) -> None:
    body = {"model": "tone", "prompt": TEXT, "stream": stream}
    answer = http.post("/api/generate", json=body, headers={"Accept": accept})
    assert answer.headers["content-type"] == mime_type
    assert answer.content.startswith(magic)
    assert ("content-length" in answer.headers) is not stream


def test_the_raw_file_is_the_one_in_the_lines(http: httpx.Client) -> None:
    raw = http.post(
        "/api/chat",
        json={"model": "tone", "messages": [{"role": "user", "content": TEXT}]},
        headers={"Accept": "audio/*"},
    )
    assert raw.content == base64.b64decode("".join(map(text_of, lines_of(chat(http).content))))


def test_any_audio_keeps_the_format_of_the_options(http: httpx.Client) -> None:
    body = {"model": "tone", "prompt": TEXT, "options": {"audio_format": "flac"}}
    answer = http.post("/api/generate", json=body, headers={"Accept": "audio/*"})
    assert answer.headers["content-type"] == "audio/flac"


@pytest.mark.parametrize("accept", ["application/json", "*/*", "text/html", "", "image/png;q=x"])
def test_any_other_accept_gets_lines(accept: str, http: httpx.Client) -> None:
    body = {"model": "tone", "prompt": TEXT}
    answer = http.post("/api/generate", json=body, headers={"Accept": accept})
    assert answer.headers["content-type"] == "application/x-ndjson"


def test_event_stream(http: httpx.Client) -> None:
    body = {"model": "tone", "prompt": TEXT}
    answer = http.post("/api/generate", json=body, headers={"Accept": "text/event-stream"})
    assert answer.headers["content-type"] == "text/event-stream"
    frames = answer.text.removesuffix("\n\n").split("\n\n")
    events = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    assert [event["is_final"] for event in events] == [False] * (len(events) - 1) + [True]
    file = b"".join(base64.b64decode(event["audio_chunk"]) for event in events)
    assert heard(file).replace(" ", "") == TEXT.replace(" ", "")
    stamps = [event["timestamp"] for event in events]
    assert stamps == sorted(stamps)


def test_an_error_before_the_first_sound_is_json_with_its_status_in_every_form(
    http: httpx.Client,
) -> None:
    for accept in ("audio/wav", "text/event-stream", "application/json"):
        body = {"model": "tone", "prompt": TEXT, "options": {"voice": "nobody"}}
        answer = http.post("/api/generate", json=body, headers={"Accept": accept})
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert "nobody" in answer.json()["error"]


def test_chat_speaks_the_last_user_message(http: httpx.Client) -> None:
    messages = [
        {"role": "system", "content": "calm"},
        {"role": "user", "content": "Old text."},
        {"role": "assistant", "content": "UklGRg=="},
        {"role": "USER", "content": "New text."},
        {"role": "assistant", "content": ""},
    ]
    answer = http.post("/api/chat", json={"model": "tone", "messages": messages, "stream": False})
    message = answer.json()["message"]
    assert message["role"] == "assistant"
    assert heard(base64.b64decode(message["content"])).replace(" ", "") == "Newtext."


def test_chat_takes_content_in_parts(http: httpx.Client) -> None:
    answer = chat(http, [{"type": "text", "text": "Part one."}], stream=False)
    assert heard(base64.b64decode(text_of(answer.json()))).replace(" ", "") == "Partone."


def test_chat_without_a_user_message_is_refused(http: httpx.Client) -> None:
    body = {"model": "tone", "messages": [{"role": "system", "content": "x"}]}
    answer = http.post("/api/chat", json=body)
    assert answer.status_code == 400
    assert "no user message" in answer.json()["error"]


def test_a_template_in_the_request_is_put_around_the_text(http: httpx.Client) -> None:
    answer = generate(http, prompt="middle", template="go {{ .Prompt }} end", stream=False)
    file = base64.b64decode(answer.json()["response"])
    assert heard(file).replace(" ", "").startswith("gomiddleend")


def test_raw_mode_refuses_what_it_cannot_use(http: httpx.Client) -> None:
    answer = generate(http, raw=True, template="{{ .Prompt }}")
    assert answer.status_code == 400
    assert answer.json()["error"] == "raw mode does not support template, system, or context"


def test_the_model_is_echoed_as_it_was_asked_for(http: httpx.Client) -> None:
    for name in ("TONE", "tone:latest", "registry.ollama.ai/library/tone:latest", "tone:local"):
        assert generate(http, model=name, stream=False).json()["model"] == name


def test_text_that_cannot_be_spoken_is_refused_with_a_reason(http: httpx.Client) -> None:
    answer = generate(http, prompt=" \n ")
    assert answer.status_code == 400
    assert "spoken" in answer.json()["error"]


def test_lines_leave_one_by_one_while_the_sound_is_being_made(live: LiveServer) -> None:
    """The first line is there while nearly all of the answer is still to be made."""
    with wire(live.address) as connection:
        connection.post("/api/generate", {"model": "tone", "prompt": "Long text. " * 400,
                                          "options": {"tone_rate": 1.0}})  # fmt: skip
        status, fields = connection.head()
        assert (status, fields["transfer-encoding"]) == (200, "chunked")
        assert json.loads(connection.chunk().splitlines()[0])["done"] is False
        assert live.read(lambda node: node.scheduler.active) == 1


@pytest.mark.parametrize("name", ["sound", "a-222222.25", "start_s-111111.125"])
def test_no_name_confuses_the_lines(name: str, own_http: httpx.Client) -> None:
    body = {"model": name, "from": "tone", "stream": False}
    assert own_http.post("/api/create", json=body).status_code == 200
    asked = {"model": name.upper(), "prompt": "many lines, " * 30, "options": {"seed": 1}}
    for _ in range(2):
        lines = lines_of(own_http.post("/api/generate", json=asked).content)
        assert {line["model"] for line in lines} == {name.upper()}
        assert len(lines) > 10
        end_s = 0.0
        for line in lines[:-1]:
            assert line["audio"]["start_s"] == pytest.approx(end_s, abs=1e-4)
            end_s += line["audio"]["duration_s"]
