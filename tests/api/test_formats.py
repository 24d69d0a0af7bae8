"""Every format through every door: one file, the same everywhere, whole and cut short.

What the program ffmpeg makes of it is asked once a format: the doors must give the same bytes.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import httpx
import numpy as np
import pytest
from websockets.sync.client import connect

from ollama_tts.audio.encode import MIME_TYPES
from ollama_tts.options import AUDIO_FORMATS
from tests.support.ffmpeg import FFMPEG, MISSING, decode
from tests.support.live import LiveServer
from tests.support.tone_listener import listen
from tests.support.wire import Wire, lines_of

TEXT = "One two three. Four five six. Seven eight nine."
SAID = TEXT.replace(" ", "")
RATE_HZ = 24_000
EXACT_S = 0.02
LONGER_S = {"mp3": 0.03, "aac": 0.1}  # streamed: the rest of the last frame; AAC's delay, too
MARKS = {"wav": b"RIFF", "flac": b"fLaC", "opus": b"OpusHead", "mp3": b"ID3", "aac": b"ID3"}

Pieces = list[bytes]


def asking(name: str) -> dict[str, Any]:
    return {"model": "tone", "prompt": TEXT, "options": {"audio_format": name}}


def generate(server: LiveServer, name: str) -> Pieces:
    with httpx.Client(base_url=server.url, timeout=60) as http:
        lines = lines_of(http.post("/api/generate", json=asking(name)).content)
    return [base64.b64decode(line["response"]) for line in lines]


def chat(server: LiveServer, name: str) -> Pieces:
    body = {**asking(name), "messages": [{"role": "user", "content": TEXT}]}
    with httpx.Client(base_url=server.url, timeout=60) as http:
        lines = lines_of(http.post("/api/chat", json=body).content)
    return [base64.b64decode(line["message"]["content"]) for line in lines]


def events(server: LiveServer, name: str) -> Pieces:
    with httpx.Client(base_url=server.url, timeout=60) as http:
        accept = {"Accept": "text/event-stream"}
        text = http.post("/api/generate", json=asking(name), headers=accept).text
    told = [json.loads(line) for line in re.findall(r"^data: (.*)$", text, re.MULTILINE)]
    return [base64.b64decode(event["audio_chunk"]) for event in told]


def openai_events(server: LiveServer, name: str) -> Pieces:
    body = {"model": "tone", "input": TEXT, "response_format": name, "stream_format": "sse"}
    with httpx.Client(base_url=server.url, timeout=60) as http:
        text = http.post("/v1/audio/speech", json=body).text
    told = [json.loads(line) for line in re.findall(r"^data: (.*)$", text, re.MULTILINE)]
    return [base64.b64decode(event["audio"]) for event in told if "audio" in event]


def chunks(server: LiveServer, path: str, body: object, *fields: str) -> Pieces:
    """The chunks of a raw answer, as they were sent."""
    wire = Wire(server.address)
    try:
        wire.post(path, body, *fields)
        status, _ = wire.head()
        assert status == 200
        return list(wire.chunks())
    finally:
        wire.close()


def raw(server: LiveServer, name: str) -> Pieces:
    return chunks(server, "/api/generate", asking("wav"), f"Accept: {MIME_TYPES[name]}")


def openai_raw(server: LiveServer, name: str) -> Pieces:
    body = {"model": "tone", "input": TEXT, "response_format": name}
    return chunks(server, "/v1/audio/speech", body)


def socket(server: LiveServer, name: str) -> Pieces:
    def frames() -> Iterator[bytes]:
        url = server.url.replace("http://", "ws://") + "/api/speak"
        with connect(url, max_size=None, proxy=None) as talk:
            start = {"type": "start", "model": "tone", "options": {"audio_format": name}}
            for frame in (start, {"type": "text", "text": TEXT}, {"type": "end"}):
                talk.send(json.dumps(frame))
            while (told := json.loads(talk.recv(30)))["type"] != "done":
                assert told["type"] != "error", told
                if told["type"] == "audio":
                    data = talk.recv(30)
                    assert isinstance(data, bytes)
                    yield data

    return list(frames())


def short(server: LiveServer, name: str) -> Pieces:
    return chunks(server, "/synthesize", {"model": "tone", "text": TEXT})


def short_array(server: LiveServer, name: str) -> Pieces:
    body = [{"model": "tone", "prompt": TEXT, "stream": True}]
    return chunks(server, "/generate", body)


DOORS: tuple[Callable[[LiveServer, str], Pieces], ...] = (
    chat, events, raw, openai_raw, openai_events, socket
)  # fmt: skip


@pytest.fixture(scope="module")
def samples(shared: LiveServer) -> int:
    """How many samples the sound has."""
    return len(b"".join(generate(shared, "pcm"))) // 2


@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_all_doors_stream_the_same_bytes_with_one_header(name: str, shared: LiveServer) -> None:
    pieces = generate(shared, name)
    file = b"".join(pieces)
    assert file.count(MARKS.get(name, b"\0no header")) == (name in {"wav", "flac", "opus"})
    for door in DOORS:
        assert b"".join(door(shared, name)) == file, door.__name__
    if name == "wav":
        assert b"".join(short(shared, name)) == b"".join(short_array(shared, name)) == file


@pytest.mark.skipif(FFMPEG is None, reason=MISSING)
@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_ffmpeg_reads_the_stream_in_full(name: str, shared: LiveServer, samples: int) -> None:
    heard = decode(b"".join(generate(shared, name)), name, RATE_HZ)
    longer_s = len(heard) / RATE_HZ - samples / RATE_HZ
    assert -EXACT_S <= longer_s <= LONGER_S.get(name, EXACT_S)
    said = listen(heard, RATE_HZ).replace(" ", "")
    assert said == SAID or (name == "aac" and said.endswith("nine."))  # AAC blurs the first tone


@pytest.mark.skipif(FFMPEG is None, reason=MISSING)
@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_ffmpeg_reads_what_had_come_after_300_ms(name: str, shared: LiveServer) -> None:
    with httpx.Client(base_url=shared.url, timeout=60) as http:
        lines = lines_of(http.post("/api/generate", json=asking(name)).content)
    ends_s = accumulate(line["audio"]["duration_s"] for line in lines[:-1])
    count = next(index for index, end_s in enumerate(ends_s, 1) if end_s >= 0.3)
    arrived = b"".join(base64.b64decode(line["response"]) for line in lines[:count])
    heard = decode(arrived, name, RATE_HZ, cut=True)
    assert len(heard) >= 0.1 * RATE_HZ
    assert np.abs(heard).max() > 0.1


@pytest.mark.skipif(FFMPEG is None, reason=MISSING)
@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_a_whole_file_is_as_long_as_its_samples(
    name: str, http: httpx.Client, samples: int
) -> None:
    body = asking(name)
    answer = http.post("/api/generate", json={**body, "stream": False}).json()
    file = base64.b64decode(answer["response"])
    speech = {"model": "tone", "input": TEXT, "response_format": name, "stream": False}
    assert http.post("/v1/audio/speech", json=speech).content == file
    accept = {"Accept": MIME_TYPES[name]}
    assert (
        http.post("/api/generate", json={**body, "stream": False}, headers=accept).content == file
    )
    heard_s = len(decode(file, name, RATE_HZ)) / RATE_HZ
    longest_s = LONGER_S["aac"] if name == "aac" else EXACT_S  # ADTS cannot say its exact length
    assert -EXACT_S <= heard_s - samples / RATE_HZ <= longest_s
    assert answer["audio"]["duration_s"] == pytest.approx(samples / RATE_HZ, abs=0.001)
