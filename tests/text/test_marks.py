import pytest

from ollama_tts.text import prepare
from ollama_tts.text.explain import explain
from ollama_tts.text.marks import MARK, NAMES, ControlMark, written
from ollama_tts.text.rules import CHATTTS_MARKS, TextRules


@pytest.mark.parametrize("name", NAMES)
def test_every_mark_survives_its_place(name: str) -> None:
    mark = ControlMark(name)
    assert ControlMark.at(mark.place) == mark
    assert written(f"a {mark.place} b") == f"a [{name}] b"
    match = MARK.fullmatch(mark.written)
    assert match is not None
    assert match[1] == name


def test_a_numbered_mark_is_known_by_its_name() -> None:
    assert ControlMark("oral_3").known_to(frozenset({"oral"}))
    assert ControlMark("oral_3").known_to(frozenset({"oral_3"}))
    assert not ControlMark("oral_3").known_to(frozenset({"laugh"}))
    assert ControlMark("uv_break").known_to(CHATTTS_MARKS)


@pytest.mark.parametrize(
    "text", ["[Laugh] ha", "[laugh ha", "[oral_99] ha", "[Stts] ha", "[spk_emb] ha"]
)
def test_every_other_bracket_is_plain_text(text: str) -> None:
    [utterance] = prepare(text)
    assert utterance.controls == ()
    assert "[" not in utterance.text


def test_a_mark_the_voice_does_not_know_is_on_the_account() -> None:
    account = explain("Ha [laugh] ha", rules=TextRules())
    assert account["utterances"][0]["text"] == "Ha ha"
    assert [entry["reason"] for entry in account["dropped"]] == ["control mark"]


def test_private_characters_of_the_input_are_no_marks() -> None:
    account = explain(f"Hello {ControlMark('laugh').place} there")
    assert account["utterances"][0]["controls"] == []
    assert [entry["reason"] for entry in account["dropped"]] == ["not a character"]
