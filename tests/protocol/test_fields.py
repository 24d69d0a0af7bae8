"""keep_alive, think and message content in all their types."""

import math

import pytest

from ollama_tts.errors import InvalidRequest
from ollama_tts.protocol.fields import keep_alive_s, plain_text, thinks


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        (0, 0.0),
        (0.0, 0.0),
        ("0", 0.0),
        ("0s", 0.0),
        (30, 30.0),
        (42.5, 42.5),
        ("5m", 300.0),
        ("5m0s", 300.0),
        ("1h30m", 5400.0),
        ("300ms", 0.3),
        (-1, math.inf),
        ("-1s", math.inf),
        ("-1m", math.inf),
        (1e12, math.inf),
        (10**400, math.inf),
        ("9999999h", math.inf),
    ],
)
def test_keep_alive_in_seconds(value: object, seconds: float | None) -> None:
    assert keep_alive_s(value) == seconds


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("abc", 'time: invalid duration "abc"'),
        ("", 'time: invalid duration ""'),
        ("10", 'time: missing unit in duration "10"'),
        ("-1", 'time: missing unit in duration "-1"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        (True, "Unsupported type: 'bool'"),
        ({"x": 1}, "Unsupported type: 'map[string]interface {}'"),
        ([1], "Unsupported type: '[]interface {}'"),
    ],
)
def test_a_keep_alive_that_cannot_be_meant_is_refused_with_help(value: object, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        keep_alive_s(value)
    assert str(caught.value).startswith(words)
    assert "keep_alive takes" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "asked"), [(None, False), (False, False), (True, True), ("low", True), ("max", True)]
)
def test_think(value: object, asked: bool) -> None:
    assert thinks(value) is asked


def test_think_refuses_other_words() -> None:
    with pytest.raises(InvalidRequest, match='invalid think value: "x"'):
        thinks("x")
    with pytest.raises(InvalidRequest, match="think must be a boolean or string"):
        thinks(5)


def test_content_is_text_or_text_parts() -> None:
    assert plain_text("hi") == "hi"
    assert plain_text([{"type": "text", "text": "a"}, {"text": "b"}]) == "a\nb"


@pytest.mark.parametrize("part", [{"type": "image_url"}, {"type": "text"}, {"text": 5}])
def test_content_that_is_no_text_is_refused(part: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match="is not text"):
        plain_text([part])
