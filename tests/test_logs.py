import io
import json
import logging

from ollama_tts import logs


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
