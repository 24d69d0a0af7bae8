"""Bodies to structs as Go decodes them, structs to ASCII lines."""

import json
import logging

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidRequest
from ollama_tts.protocol.codec import decode, encode, encode_line, parse
from ollama_tts.protocol.ollama import (
    Audio,
    ChatRequest,
    ChatResponse,
    CreateRequest,
    GenerateRequest,
    GenerateResponse,
    Message,
    ProgressResponse,
    Wire,
)


def refusal(body: bytes, kind: type[Wire] = GenerateRequest) -> str:
    with pytest.raises(InvalidRequest) as caught:
        decode(body, kind)
    return str(caught.value)


@pytest.mark.parametrize("body", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_body_is_missing(body: bytes) -> None:
    assert refusal(body) == "missing request body"


@pytest.mark.parametrize("body", [b"null", b"{}", b'{"model":null,"options":null,"stream":null}'])
def test_null_is_the_same_as_absent(body: bytes) -> None:
    assert decode(body, GenerateRequest) == GenerateRequest()


def test_a_byte_order_mark_is_skipped() -> None:
    assert decode(b'\xef\xbb\xbf{"model":"a"}', GenerateRequest).model == "a"


def test_keys_match_in_any_case_and_the_last_one_counts() -> None:
    body = b'{"MODEL":"a","Model":"b","KEEP_ALIVE":5}'
    assert decode(body, GenerateRequest) == GenerateRequest(model="b", keep_alive=5)


def test_keys_of_nested_structs_match_in_any_case_too() -> None:
    body = b'{"messages":[{"ROLE":"user","Content":"hi","images":null}]}'
    [message] = decode(body, ChatRequest).messages
    assert (message.role, message.content, message.images) == ("user", "hi", [])


def test_keys_of_maps_keep_their_case() -> None:
    body = b'{"options":{"Seed":1},"OPTIONS":{"sEED":2}}'
    assert decode(body, GenerateRequest).options == {"sEED": 2}


def test_unknown_keys_are_told_in_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ollama_tts.protocol.codec"):
        decode(b'{"model":"a","messages":[],"voice":"x"}', GenerateRequest)
    assert caplog.messages == ["GenerateRequest: fields not used: messages, voice"]


@pytest.mark.parametrize("behind", [b" x", b"{}", b"\n{", b"\x00", b"\xff"])
def test_bytes_behind_the_first_value_are_ignored(behind: bytes) -> None:
    assert decode(b'{"model":"a"}' + behind, GenerateRequest).model == "a"


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert decode(b'{"prompt":"a\xffb"}', GenerateRequest).prompt == "a\ufffdb"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[]", "json: cannot unmarshal array into Go value of type api.GenerateRequest"),
        (b'"x"', "json: cannot unmarshal string into Go value of type api.GenerateRequest"),
        (b"5", "json: cannot unmarshal number into Go value of type api.GenerateRequest"),
        (b"true", "json: cannot unmarshal bool into Go value of type api.GenerateRequest"),
    ],
)
def test_a_wrong_type_is_refused_in_gos_words(body: bytes, words: str) -> None:
    assert refusal(body) == words


@pytest.mark.parametrize(
    ("body", "kind", "field"),
    [
        (b'{"options":"x"}', "string", "options of type map[string]interface {}"),
        (b'{"stream":"false"}', "string", "stream of type bool"),
        (b'{"prompt":5}', "number", "prompt of type string"),
        (b'{"top_logprobs":1.5}', "number 1.5", "top_logprobs of type int"),
        (b'{"context":["a"]}', "string", "context of type int"),
        (b'{"images":{}}', "object", "images of type []string"),
    ],
)
def test_a_field_of_a_wrong_type_is_named_in_gos_words(body: bytes, kind: str, field: str) -> None:
    words = f"json: cannot unmarshal {kind} into Go struct field GenerateRequest.{field}"
    assert refusal(body) == words


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"messages":[{"content":5}]}', "ChatRequest.messages.content of type string"),
        (b'{"messages":["x"]}', "ChatRequest.messages of type api.Message"),
        (b'{"messages":{}}', "ChatRequest.messages of type []api.Message"),
        (
            b'{"messages":[{"content":["x"]}]}',
            "ChatRequest.messages.content of type map[string]interface {}",
        ),
    ],
)
def test_a_wrong_type_inside_a_message_names_the_place(body: bytes, field: str) -> None:
    assert refusal(body, ChatRequest).endswith(f"Go struct field {field}")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"files":{"a":"b","c":1}}', "CreateRequest.files of type string"),
        (b'{"license":[5]}', "CreateRequest.license of type string"),
        (b'{"license":5}', "CreateRequest.license of type string"),
        (b'{"from":5}', "CreateRequest.from of type string"),
        (b'{"messages":[{"content":1}]}', "CreateRequest.messages.content of type string"),
    ],
)
def test_a_wrong_type_in_create_names_the_place(body: bytes, field: str) -> None:
    words = f"json: cannot unmarshal number into Go struct field {field}"
    assert refusal(body, CreateRequest) == words


@pytest.mark.parametrize("number", [b"1e999", b"1" * 5000])
def test_a_number_beyond_all_bounds_is_refused(number: bytes) -> None:
    assert refusal(b'{"options":{"seed":' + number + b"}}").endswith("out of range")


@pytest.mark.parametrize("depth", [201, 999, 100_000])
def test_deep_nesting_is_refused_however_deep(depth: int) -> None:
    body = b'{"options":{"a":' + b"[" * depth + b"]" * depth + b"}}"
    assert "exceeded max depth" in refusal(body)


def test_many_flat_brackets_are_no_nesting() -> None:
    assert parse(b"[" + b",".join([b"[]"] * 1000) + b"]") == [[]] * 1000


def test_strings_of_brackets_are_no_nesting() -> None:
    text = "[" * 1000
    assert decode(encode({"prompt": text}), GenerateRequest).prompt == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_goes_to_ascii_and_back(text: str) -> None:
    line = encode_line({"prompt": text})
    assert line.isascii()
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert not set(line) & set(b"<>&\r")
    assert json.loads(line) == {"prompt": text}
    assert decode(line, GenerateRequest).prompt == text


@given(st.binary(max_size=200))
def test_any_bytes_are_a_struct_or_a_refusal(body: bytes) -> None:
    try:
        decode(body, GenerateRequest)
    except InvalidRequest as error:
        words = str(error)
    else:
        words = "taken"
    assert words


def test_line_separators_and_html_are_escaped_as_go_does() -> None:
    assert encode({"a": "<\u2028é>"}) == rb'{"a":"\u003c\u2028\u00e9\u003e"}'


def test_defaults_are_left_out_and_required_fields_never() -> None:
    empty = GenerateResponse(model="m", created_at="t", done=False, response="")
    assert encode(empty) == b'{"model":"m","created_at":"t","done":false,"response":""}'
    assert encode(ProgressResponse(status="success")) == b'{"status":"success"}'


def test_zeros_of_the_last_audio_object_stay_on_the_wire() -> None:
    audio = Audio(format="wav", mime_type="audio/wav", sample_rate=24000, channels=1,
                  duration_s=0.0, cache_hits=0, start_s=0.0)  # fmt: skip
    assert {"cache_hits", "start_s", "duration_s"} <= json.loads(encode(audio)).keys()


def test_answers_can_be_read_back() -> None:
    answer = ChatResponse(model="m", created_at="t", done=True, done_reason="stop",
                          message=Message(role="assistant", content="eA=="))  # fmt: skip
    assert decode(encode(answer), ChatResponse) == answer
