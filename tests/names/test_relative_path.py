from pathlib import PurePosixPath

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidName
from ollama_tts.names import RelativePath


@pytest.mark.parametrize(
    "text",
    ["a", "a.gguf", "asset/gpt/model.safetensors", "a b", "..a", "a..", ".hidden", "声音.json"],
)
def test_allowed(text: str) -> None:
    path = RelativePath.parse(text)
    assert str(path) == text
    assert RelativePath.parse(str(path)) == path


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "..", "/", "/etc/passwd", "../a", "a/../b", "a/..", "a//b", "a/", "./a", "a/./b",
        "..\\x", "C:\\evil.txt", "C:evil", "a\\b", "a\x00b", "a\nb", "x" * 1025, "é" * 513,
        "\ud800",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(InvalidName, match=r"^file path must be relative"):
        RelativePath.parse(text)


def test_suffix_and_name() -> None:
    path = RelativePath.parse("a/b.SafeTensors")
    assert (path.name, path.suffix) == ("b.SafeTensors", ".safetensors")


def test_a_long_path_is_quoted_in_short() -> None:
    with pytest.raises(InvalidName) as caught:
        RelativePath.parse("/" + "x" * 100_000)
    assert len(str(caught.value)) < 150


@given(st.text(alphabet="ab./\\:é\x00 ", max_size=30))
def test_what_is_allowed_stays_below_any_folder(text: str) -> None:
    try:
        path = RelativePath.parse(text)
    except InvalidName:
        return
    joined = PurePosixPath("/root", path.text)
    assert joined.is_relative_to("/root")
    assert ".." not in joined.parts
    assert joined != PurePosixPath("/root")
