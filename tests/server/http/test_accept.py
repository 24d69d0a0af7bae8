"""Which form an Accept header asks for."""

import pytest

from ollama_tts.server.http.accept import Wanted, wanted


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Wanted("ndjson")),
        ("*/*", Wanted("ndjson")),
        ("application/json", Wanted("ndjson")),
        ("text/html", Wanted("ndjson")),
        ("audio/*", Wanted("raw")),
        ("application/octet-stream", Wanted("raw")),
        ("audio/wav", Wanted("raw", "wav")),
        ("Audio/MPEG", Wanted("raw", "mp3")),
        ("audio/ogg; codecs=opus", Wanted("raw", "opus")),
        ("text/event-stream", Wanted("sse")),
        ("application/json, text/event-stream", Wanted("ndjson")),
        ("text/event-stream, */*", Wanted("sse")),
        ("audio/wav;q=0.5, audio/flac;q=0.8", Wanted("raw", "flac")),
        ("audio/wav;q=0", Wanted("ndjson")),
        ("audio/wav;q=nonsense", Wanted("ndjson")),
        ("audio/wav;q=0.5, */*", Wanted("ndjson")),
        ("audio/webm, audio/ogg, audio/wav, audio/*;q=0.9", Wanted("raw", "opus")),
        (",;,q=1", Wanted("ndjson")),
    ],
)
def test_wanted(accept: str, form: Wanted) -> None:
    assert wanted(accept) == form
