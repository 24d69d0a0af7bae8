import io
import json
import logging

import pytest

from ollama_tts import logs
from ollama_tts.errors import GenerationFailed, LoadFailed, UnspeakableText


def written(style: str, text: str) -> str:
    stream = io.StringIO()
    logs.set_up(debug=False, style=style, stream=stream)
    logging.getLogger("ollama_tts.somewhere").warning("%s", text)
    return stream.getvalue()


def test_one_event_is_one_line_and_moves_no_cursor() -> None:
    line = written("text", "a\x1b[31mb\r\nc\x9bd\u2028e")
    assert line.count("\n") == 1
    assert line.endswith("a\\x1b[31mb\\r\\nc\\x9bd\\u2028e\n")


def test_json_lines_hold_the_request() -> None:
    token = logs.request_id.set("abc")
    event = json.loads(written("json", "hello"))
    logs.request_id.reset(token)
    assert event["task_id"] == "abc"
    assert event["message"] == "hello"
    assert event["level"] == "warning"


def failed(text: str) -> GenerationFailed:
    try:
        int(text)
    except ValueError as cause:
        error = GenerationFailed(f"speaking failed: {cause!r}")
        error.__cause__ = cause
        return error
    raise AssertionError(text)


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("debug", [False, True])
def test_an_error_that_may_quote_a_text_shows_it_at_debug_alone(style: str, debug: bool) -> None:
    stream = io.StringIO()
    logs.set_up(debug=debug, style=style, stream=stream)
    log = logging.getLogger("ollama_tts.somewhere")
    error = failed("a secret")
    log.error("it failed: %s", logs.told(error), exc_info=error)
    logs.set_up(debug=False, style=style, stream=io.StringIO())
    assert ("a secret" in stream.getvalue()) is debug
    assert "test_logs.py" in stream.getvalue()
    assert "GenerationFailed" in stream.getvalue()
    assert "ValueError" in stream.getvalue()


def test_an_error_of_our_own_keeps_its_words() -> None:
    assert logs.told(LoadFailed("no such layer")) == "LoadFailed: no such layer"
    assert logs.told(UnspeakableText("cannot say 'x'")) == "UnspeakableText"


def test_figures_are_members_or_follow_the_text() -> None:
    for style, wanted in (("json", '"took_s": 0.5, "model": "tone"'), ("text", "took_s=0.5")):
        stream = io.StringIO()
        logs.set_up(debug=False, style=style, stream=stream)
        log = logging.getLogger("ollama_tts.somewhere")
        log.info("speech", extra=logs.figures({"took_s": 0.5, "model": "tone"}))
        assert wanted in stream.getvalue()
