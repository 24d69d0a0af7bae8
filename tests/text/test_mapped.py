import re

from ollama_tts.text.mapped import MappedText


def spans(text: MappedText) -> list[tuple[str, int, int]]:
    return list(zip(text.text, text.starts, text.ends, strict=True))


def test_the_input_stands_for_itself_from_its_offset() -> None:
    assert spans(MappedText.of("ab", 5)) == [("a", 5, 6), ("b", 6, 7)]
    assert spans(MappedText.empty()) == []


def test_words_stand_for_the_whole_match() -> None:
    text = MappedText.of("a 12 b").rewrite(re.compile(r"\d+"), lambda _: "xyz")
    assert text.text == "a xyz b"
    assert spans(text)[2:5] == [("x", 2, 4), ("y", 2, 4), ("z", 2, 4)]
    assert spans(text)[5:] == [(" ", 4, 5), ("b", 5, 6)]


def test_kept_parts_of_a_match_stay_mapped_and_words_lie_between() -> None:
    text = MappedText.of("[ab](u)").rewrite(
        re.compile(r"\[(.*)\]\(.*\)"), lambda m: ["<", m.span(1), ">"]
    )
    assert spans(text) == [("<", 0, 1), ("a", 1, 2), ("b", 2, 3), (">", 3, 7)]


def test_a_rule_that_does_not_hold_changes_nothing() -> None:
    text = MappedText.of("a1")
    assert text.rewrite(re.compile(r"\d"), lambda _: None) is text
    assert text.rewrite(re.compile("z"), lambda _: "") is text


def test_two_rewrites_compose() -> None:
    once = MappedText.of("one 2").rewrite(re.compile(r"\d"), lambda _: "TWO")
    twice = once.rewrite(re.compile("TWO"), lambda _: "deux")
    assert spans(twice)[4:] == [(char, 4, 5) for char in "deux"]


def test_cut_strip_and_join() -> None:
    text = MappedText.of("  ab  cd")
    left, right = text.cut(0, 6).strip(), text.cut(6, 8)
    assert spans(left) == [("a", 2, 3), ("b", 3, 4)]
    assert left.join(right).text == "abcd"
    assert left.join(MappedText.empty()) is left
    assert MappedText.of("   ").strip().text == ""
