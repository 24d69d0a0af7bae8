"""Lines made from a form: the same objects as if each had been encoded by itself."""

import base64
import json

import pytest
from hypothesis import given, settings, strategies as st

from ollama_tts.server.http.lines import STREAM_LINES, LineForm
from ollama_tts.server.http.objects import Shape
from ollama_tts.service.events import AudioChunk, AudioFormat, SpeechStarted

STARTED = SpeechStarted(AudioFormat("wav", "audio/wav", 24_000), "tone", "0" * 64, 1)
HARD = 'a "quoted" 100 %b %s {} 你好\u2028<&>\n'


def written(model: str, chunks: list[AudioChunk], *, chat: bool = False) -> list[dict[str, object]]:
    form = LineForm(Shape(model, chat), STARTED)
    data = b"".join(form.lines(chunk) for chunk in chunks) + form.last_lines(9.0)
    assert data.isascii()
    assert data.endswith(b"\n")
    lines = data.split(b"\n")[:-1]
    assert max(map(len, lines)) < 48 * 1024
    return [json.loads(line) for line in lines]


def content(line: dict[str, object], *, chat: bool = False) -> tuple[str, str]:
    """The base64 text and what a language model wrote."""
    holder = line["message"] if chat else line
    assert isinstance(holder, dict)
    return holder["content" if chat else "response"], holder.get("thinking", "")


@pytest.mark.parametrize("chat", [False, True])
@settings(deadline=None)
@given(
    sounds=st.lists(st.binary(max_size=9000), max_size=5),
    model=st.text(max_size=20) | st.just(HARD),
    text=st.text(max_size=600) | st.just(HARD),
    thought=st.text(max_size=40) | st.just(HARD * 500),
)
def test_lines_hold_what_the_chunks_held(
    chat: bool, sounds: list[bytes], model: str, text: str, thought: str
) -> None:
    first = AudioChunk(b"RIFF", 0.0, 0.25, text=text, written=thought)
    rest = [AudioChunk(sound, 0.25 + n, 1.0) for n, sound in enumerate(sounds)]
    lines = written(model, [first, *rest], chat=chat)
    texts, thoughts = zip(*(content(line, chat=chat) for line in lines), strict=True)
    assert b"".join(base64.b64decode(each) for each in texts) == b"RIFF" + b"".join(sounds)
    assert "".join(thoughts) == thought
    audios = [line["audio"] for line in lines]
    assert "".join(audio["text"] for audio in audios) == text[:400]  # type: ignore[index]
    assert sum(audio["duration_s"] for audio in audios) == pytest.approx(  # type: ignore[index]
        0.25 + len(sounds), abs=1e-3
    )
    assert {line["model"] for line in lines} == {model}
    assert {line["done"] for line in lines} == {False}


def test_a_line_has_the_fields_of_an_object_in_their_order() -> None:
    [line] = written("tone", [AudioChunk(bytes(480), 1.5, 0.01, text="One.")])
    assert list(line) == ["model", "created_at", "done", "audio", "response"]
    assert line["audio"] == {
        "format": "wav",
        "mime_type": "audio/wav",
        "sample_rate": 24_000,
        "channels": 1,
        "duration_s": 0.01,
        "start_s": 1.5,
        "text": "One.",
    }
    [line] = written("tone", [AudioChunk(bytes(480), 1.5, 0.01)], chat=True)
    message = line["message"]
    assert isinstance(message, dict)
    assert list(message) == ["role", "content"]


def test_pieces_share_their_chunks_time() -> None:
    lines = written("tone", [AudioChunk(bytes(48 * STREAM_LINES * 3), 2.0, 0.12)])
    audios = [line["audio"] for line in lines]
    assert [audio["start_s"] for audio in audios] == [2.0, 2.04, 2.08]  # type: ignore[index]
    assert [audio["duration_s"] for audio in audios] == [0.04] * 3  # type: ignore[index]
