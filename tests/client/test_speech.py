import base64
import json

import pytest

from ollama_tts.client.speech import Asked, SpeechChunk, SpeechEnd, events, settle, whole
from ollama_tts.errors import BatchFailed, Busy, GenerationFailed

AUDIO = {"format": "wav", "mime_type": "audio/wav", "sample_rate": 24000, "channels": 1}


def line(**fields: object) -> bytes:
    return json.dumps(
        {"model": "m", "created_at": "", "response": "", "done": False} | fields
    ).encode()


def test_a_chunk_has_its_place_and_text() -> None:
    audio = AUDIO | {"start_s": 1.5, "duration_s": 0.25, "text": "Hello."}
    response = base64.encodebytes(b"\x00\x01" * 60).decode()
    (chunk,) = events(line(response=response, audio=audio))
    assert isinstance(chunk, SpeechChunk)
    assert chunk.data == b"\x00\x01" * 60
    assert (chunk.start_s, chunk.duration_s, chunk.text) == (1.5, 0.25, "Hello.")
    assert (chunk.mime_type, chunk.sample_rate_hz) == ("audio/wav", 24000)


def test_the_last_object_may_hold_sound_too() -> None:
    audio = AUDIO | {"duration_s": 3.0, "utterances": 2, "voice": "v", "first_audio_ms": 12.5}
    tail, end = events(line(response="AAA=", done=True, done_reason="stop", audio=audio,
                            total_duration=7, eval_count=150))  # fmt: skip
    assert isinstance(tail, SpeechChunk)
    assert (tail.data, tail.duration_s) == (b"\x00\x00", 0.0)
    assert isinstance(end, SpeechEnd)
    assert (end.done_reason, end.duration_s, end.utterances) == ("stop", 3.0, 2)
    assert (end.voice, end.first_audio_ms, end.total_ns, end.eval_count) == ("v", 12.5, 7, 150)


def test_an_end_without_sound_is_only_an_end() -> None:
    (end,) = events(line(done=True, done_reason="load"))
    assert isinstance(end, SpeechEnd)
    assert end.done_reason == "load"


@pytest.mark.parametrize("bad", [b'{"error": "the voice broke"}', b"<html>", b'{"response": 3}'])
def test_errors_and_strangers_are_failures(bad: bytes) -> None:
    with pytest.raises(GenerationFailed, match=r"the voice broke|does not parse"):
        list(events(bad))
    with pytest.raises(GenerationFailed):
        whole(bad)


def test_only_what_is_given_is_asked() -> None:
    plain = json.loads(Asked("Hi.", "m", {}).call().body)
    assert plain == {"model": "m", "prompt": "Hi.", "stream": True}
    full = Asked("Hi.", "m", {"break": 3}, system="calm", keep_alive="10m", whole=True).call()
    assert json.loads(full.body) == {
        "model": "m", "prompt": "Hi.", "stream": False,
        "options": {"break": 3}, "system": "calm", "keep_alive": "10m",
    }  # fmt: skip


def test_a_batch_keeps_its_order() -> None:
    assert settle([b"a", b"b", b"c"]) == [b"a", b"b", b"c"]


def test_a_batch_names_what_failed_and_keeps_the_rest() -> None:
    busy, broken = Busy("full"), GenerationFailed("broken")
    with pytest.raises(
        BatchFailed, match=r"2 of 4 texts failed: text 1: full; text 3: broken"
    ) as e:
        settle([b"a", busy, b"c", broken])
    assert e.value.results == [b"a", None, b"c", None]
    assert e.value.failures == {1: busy, 3: broken}
