import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidName
from ollama_tts.names import ModelName

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "name-cases.json").read_text()
)
ASCII = "abzABZ019_"
part = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}", fullmatch=True)
namespace = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}", fullmatch=True)
host = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}", fullmatch=True)
names = st.builds(ModelName, model=part, tag=part, namespace=namespace, host=host) | st.builds(
    ModelName, model=part, tag=part, namespace=namespace
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["input"] or "empty")
def test_recorded_case(case: dict[str, Any]) -> None:
    if not case["valid"]:
        with pytest.raises(InvalidName, match=r"^invalid model name$"):
            ModelName.parse(case["input"])
        return
    name = ModelName.parse(case["input"])
    assert (name.full, name.short) == (case["full"], case["display_shortest"])


def test_all_recorded_cases_are_there() -> None:
    assert len(CASES) == 20


def test_defaults() -> None:
    name = ModelName.parse("hibari")
    assert name.parts == ("registry.ollama.ai", "library", "hibari", "latest")
    assert (name.scheme, str(name)) == ("https", "hibari:latest")


def test_scheme_is_kept_and_is_no_part_of_the_identity() -> None:
    name = ModelName.parse("HTTP://h/n/m")
    assert name.scheme == "http"
    assert name == ModelName.parse("h/n/m")


@pytest.mark.parametrize(
    "text",
    [
        "a//b", "a/", ":tag", "model:", "a/b/c/d", "..", "../x", "a/../b", ".hidden", "a:../b",
        "m@sha256:" + "0" * 64, "localhost:5000/m", "://h/n/m", "a\nb", "a\x00", "m:t\n", "x" * 81,
        "n" * 81 + "/m", "h" * 351 + "/n/m", "m:" + "t" * 81, "ｍ", "m:é", " m", "m ",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        ModelName.parse(text)


@pytest.mark.parametrize(
    "text", ["x" * 80, "n" * 80 + "/m", "h" * 350 + "/n/m", "m:" + "t" * 80, "h:1/n/m", "a..b"]
)
def test_longest_and_oddest_that_are_allowed(text: str) -> None:
    assert ModelName.parse(text).full.count("/") == 2


@given(names)
def test_print_then_parse_is_a_fixed_point(name: ModelName) -> None:
    assert ModelName.parse(name.full) == name
    assert ModelName.parse(name.short) == name
    assert ModelName.parse(name.short).short == name.short


@given(names)
def test_no_part_can_leave_its_folder(name: ModelName) -> None:
    assert all(part not in {"", ".", ".."} and "/" not in part for part in name.parts)


@given(st.text(alphabet=ASCII + "/:.-@\\ \n\u00e9", max_size=40))
def test_any_text_is_a_name_or_refused(text: str) -> None:
    try:
        name = ModelName.parse(text)
    except InvalidName:
        return
    assert ModelName.parse(name.full) == name


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("m:local", "m:latest"),
        ("m:8b:local", "m:8b"),
        ("  m  ", "m:latest"),
        ("m:LOCAL", "m:latest"),
        ("ns/m:local", "ns/m:latest"),
        ("m:cloud", "m:cloud"),
        ("m:8b-cloud", "m:8b-cloud"),
        ("local", "local:latest"),
    ],
)
def test_reference(text: str, short: str) -> None:
    assert ModelName.parse_reference(text).short == short


@pytest.mark.parametrize("text", ["a:cloud:local", "a:local:local", "a:8b-cloud:local"])
def test_two_sources_are_refused(text: str) -> None:
    with pytest.raises(InvalidName) as caught:
        ModelName.parse_reference(text)
    assert str(caught.value) == f'use either :local or :cloud, not both: "{text}"'


@pytest.mark.parametrize("text", ["", "   ", ":local", "a:b:c"])
def test_reference_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        ModelName.parse_reference(text)


def test_folded_is_equal_for_two_spellings() -> None:
    assert ModelName.parse("Foo/Bar:V1").folded == ModelName.parse("foo/BAR:v1").folded
    assert ModelName.parse("Foo/Bar:V1") != ModelName.parse("foo/BAR:v1")


@pytest.mark.parametrize("text", ["a" * 4_000_000, "a:/" * 1_000_000, "/" * 4_000_000])
def test_a_huge_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        ModelName.parse(text)
