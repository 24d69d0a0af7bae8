"""Go's words for broken JSON, and the first value of a text."""

import json

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidRequest
from ollama_tts.protocol.scan import MAX_DEPTH, MAX_TOKENS, first_value

BROKEN = {
    "{": "unexpected EOF",
    '{"a"': "unexpected EOF",
    '{"a":': "unexpected EOF",
    '{"a":1,': "unexpected EOF",
    '"abc': "unexpected EOF",
    "tru": "unexpected EOF",
    "-": "unexpected EOF",
    '"\\u12': "unexpected EOF",
    "x": "invalid character 'x' looking for beginning of value",
    "'a'": "invalid character '\\'' looking for beginning of value",
    "{'a':1}": "invalid character '\\'' looking for beginning of object key string",
    '{"a" 1}': "invalid character '1' after object key",
    '{"a":1 2}': "invalid character '2' after object key:value pair",
    "[1 2]": "invalid character '2' after array element",
    "[1,]": "invalid character ']' looking for beginning of value",
    '{"a":1,}': "invalid character '}' looking for beginning of object key string",
    "trux": "invalid character 'x' in literal true (expecting 'e')",
    "nulL": "invalid character 'L' in literal null (expecting 'l')",
    "-x": "invalid character 'x' in numeric literal",
    "1.x": "invalid character 'x' after decimal point in numeric literal",
    "1ex": "invalid character 'x' in exponent of numeric literal",
    '"a\nb"': "invalid character '\\n' in string literal",
    '"\\x"': "invalid character 'x' in string escape code",
    '"\\u12g4"': "invalid character 'g' in \\u hexadecimal character escape",
    '{"a":"b" "c"}': "invalid character '\"' after object key:value pair",
}


@pytest.mark.parametrize(("text", "words"), BROKEN.items())
def test_a_broken_text_is_refused_in_gos_words(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        first_value(text)
    assert str(caught.value).startswith(words)


def test_an_invalid_character_is_placed() -> None:
    with pytest.raises(InvalidRequest, match=r"\(character 8\)"):
        first_value('{"a" : x}')


@pytest.mark.parametrize("text", ["", " \t\r\n"])
def test_nothing_is_no_value(text: str) -> None:
    assert first_value(text) == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":[1,{}]} and more', '{"a":[1,{}]}'),
        (" [] ]", "[]"),
        ("{}{}", "{}"),
        ('"a""b"', '"a"'),
        ("-1.5e+3 x", "-1.5e+3"),
        ("01", "0"),
        ("true false", "true"),
        ("null", "null"),
    ],
)
def test_text_behind_the_first_value_is_cut_off(text: str, value: str) -> None:
    assert first_value(text) == value


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    text = r'"\ud800 \\ud800 \ud83d\ude00 \udc00"'
    assert json.loads(first_value(text)) == "\ufffd \\ud800 😀 \ufffd"


def test_nesting_is_bounded() -> None:
    fits = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert first_value(fits + " x") == fits
    with pytest.raises(InvalidRequest, match="exceeded max depth"):
        first_value("[" * (MAX_DEPTH + 1))


def test_a_long_broken_text_is_given_up() -> None:
    with pytest.raises(InvalidRequest, match="malformed JSON of more than"):
        first_value("[" + "1," * MAX_TOKENS)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(
        st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON_VALUES, st.booleans(), st.sampled_from(["", " ", "x", "]", "{}"]))
def test_every_value_ends_where_it_ends(value: object, ascii_only: bool, behind: str) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1)
    tail = " " + behind if isinstance(value, int | float) else behind
    assert json.loads(first_value(text + tail)) == value


@given(st.text(alphabet='{}[]",:\\u0123truefalsn.-e+ ', max_size=30))
def test_what_the_scan_takes_a_json_parser_takes_too(text: str) -> None:
    try:
        value = first_value(text)
    except InvalidRequest:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
        return
    if value:
        json.loads(value)
