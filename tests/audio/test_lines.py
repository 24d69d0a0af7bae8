import base64
import json
import re

import pytest
from hypothesis import given, strategies as st

from ollama_tts.audio.lines import JSON_LINE_END, LINE_BYTES, Base64Lines

CHUNKS = st.lists(st.binary(max_size=200), max_size=12)


@given(CHUNKS)
def test_all_chunks_are_one_base64_text_in_lines_of_64(chunks: list[bytes]) -> None:
    lines = Base64Lines()
    text = (b"".join(lines.feed(chunk) for chunk in chunks) + lines.finish()).decode()
    assert base64.b64decode(text, validate=False) == b"".join(chunks)
    *full, last = text.split("\n")
    assert last == ""
    assert all(len(line) == 64 for line in full[:-1])
    assert all(0 < len(line) <= 64 for line in full[-1:])
    assert re.fullmatch(r"[A-Za-z0-9+/\n]*={0,2}\n?", text)


@given(CHUNKS)
def test_every_chunk_decodes_alone(chunks: list[bytes]) -> None:
    lines = Base64Lines()
    texts = [lines.feed(chunk) for chunk in chunks] + [lines.finish()]
    assert all(text == b"" or text.endswith(b"\n") for text in texts)
    assert b"".join(base64.b64decode(text) for text in texts) == b"".join(chunks)
    assert all(len(base64.b64decode(text)) % LINE_BYTES == 0 for text in texts[:-1])


@given(CHUNKS)
def test_the_text_does_not_depend_on_the_cuts(chunks: list[bytes]) -> None:
    lines, whole = Base64Lines(), Base64Lines()
    text = b"".join(lines.feed(chunk) for chunk in chunks) + lines.finish()
    assert text == whole.feed(b"".join(chunks)) + whole.finish()


def test_nothing_gives_nothing_not_a_blank_line() -> None:
    lines = Base64Lines()
    assert lines.feed(b"") == lines.finish() == b""
    assert lines.pieces(b"", 40) == []


def test_nothing_comes_after_the_end() -> None:
    lines = Base64Lines()
    lines.feed(b"abc")
    assert lines.finish() == b"YWJj\n"
    assert lines.finish() == b""


@given(CHUNKS)
def test_line_ends_can_be_those_of_a_json_text(chunks: list[bytes]) -> None:
    plain, escaped = Base64Lines(), Base64Lines(JSON_LINE_END)
    for chunk in chunks:
        assert json.dumps(plain.feed(chunk).decode())[1:-1].encode() == escaped.feed(chunk)
    assert json.dumps(plain.finish().decode())[1:-1].encode() == escaped.finish()


@pytest.mark.parametrize("size", [1, LINE_BYTES, 30_720, 30_721, 1_000_000])
@pytest.mark.parametrize("end", [b"\n", JSON_LINE_END])
def test_long_texts_are_split_at_line_ends(size: int, end: bytes) -> None:
    lines = Base64Lines(end)
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    text = lines.feed(data) + lines.finish()
    parts = lines.pieces(text, 640)
    assert b"".join(parts) == text
    assert all(part.endswith(end) for part in parts)
    assert b"".join(base64.b64decode(part.replace(end, b"")) for part in parts) == data
    assert max(part.count(end) for part in parts) <= 640


def test_the_size_of_pieces_can_be_chosen() -> None:
    lines = Base64Lines()
    assert [len(part) for part in lines.pieces(lines.feed(bytes(48 * 5)), 2)] == [130, 130, 65]
