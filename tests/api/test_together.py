"""Many at once: everyone gets their own text, in every form; real voices are spoken too."""

import asyncio
import base64
import json

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.tone_listener import listen_s16
from tests.support.wire import lines_of, wire

CALLERS = 24
FORMS = ("lines", "whole", "raw", "events", "openai", "synthesize")


def text_for(caller: int) -> str:
    return f"Caller number {caller:03d} says this and nothing else. Second sentence {caller:03d}."


def pcm_of(form: str, answer: httpx.Response) -> bytes:
    """The samples in an answer, without the header of its file."""
    if form == "lines":
        text = "".join(line["response"] for line in lines_of(answer.content))
        return base64.b64decode(text)[44:]
    if form == "whole":
        return base64.b64decode(answer.json()["message"]["content"])[44:]
    if form == "events":
        frames = answer.text.removesuffix("\n\n").split("\n\n")
        events = [json.loads(frame.removeprefix("data: ")) for frame in frames]
        return b"".join(base64.b64decode(event["audio_chunk"]) for event in events)[44:]
    return answer.content if form == "openai" else answer.content[44:]


async def ask(client: httpx.AsyncClient, form: str, text: str) -> bytes:
    prompt = {"model": "tone", "prompt": text}
    messages = [{"role": "user", "content": text}]
    path, body, accept = {
        "lines": ("/api/generate", prompt, "*/*"),
        "whole": ("/api/chat", {"model": "tone", "messages": messages, "stream": False}, "*/*"),
        "raw": ("/api/generate", prompt, "audio/wav"),
        "events": ("/api/generate", prompt, "text/event-stream"),
        "openai": (
            "/v1/audio/speech",
            {"model": "tone", "input": text, "response_format": "pcm"},
            "*/*",
        ),
        "synthesize": ("/synthesize", {"model": "tone", "text": text}, "*/*"),
    }[form]
    answer = await client.post(path, json=body, headers={"Accept": accept})
    assert answer.status_code == 200, answer.text
    return pcm_of(form, answer)


async def test_everyone_gets_their_own_text(live: LiveServer) -> None:
    async with httpx.AsyncClient(base_url=live.url, timeout=100) as client:
        forms = [FORMS[caller % len(FORMS)] for caller in range(CALLERS)]
        texts = [text_for(caller) for caller in range(CALLERS)]
        sounds = await asyncio.gather(*map(ask, [client] * CALLERS, forms, texts))
    said = [await asyncio.to_thread(listen_s16, sound, 24_000) for sound in sounds]
    assert [text.replace(" ", "") for text in said] == [text.replace(" ", "") for text in texts]
    assert live.read(lambda node: node.scheduler.active) == 0


def test_two_requests_on_one_connection_do_not_mix(shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        for text in ("First.", "Second."):
            connection.post("/api/generate", {"model": "tone", "prompt": text})
        for text in ("First.", "Second."):  # both were sent before the first was answered
            _, _, body = connection.answer()
            sound = base64.b64decode("".join(line["response"] for line in lines_of(body)))
            assert listen_s16(sound[44:], 24_000) == text


@pytest.mark.parametrize("path", ["/api/generate", "/v1/audio/speech"])
def test_the_embedded_voice_speaks(path: str, http: httpx.Client) -> None:
    """Streamed and whole are the same sound, of about the length that the text has."""
    text = "The quick brown fox jumps over the lazy dog."
    body = {"model": "hibari", "prompt": text, "input": text, "response_format": "wav",
            "options": {"seed": 7}}  # fmt: skip
    headers = {"Accept": "audio/wav"}
    files = [http.post(path, json={**body, "stream": stream}, headers=headers).content
             for stream in (True, False)]  # fmt: skip
    rate_hz = int.from_bytes(files[0][24:28], "little")
    assert 1.0 < len(files[0][44:]) / 2 / rate_hz < 8.0
    assert files[0][44:] == files[1][44:]


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: \x00\r\n\r\n",
    ],
)
def test_what_is_no_http_is_a_400_in_json(raw: bytes, shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        connection.send(raw)
        status, fields, body = connection.answer()
        assert status == 400
        assert fields["content-type"] == "application/json; charset=utf-8"
        assert list(json.loads(body)) == ["error"]
        assert connection.ended()
