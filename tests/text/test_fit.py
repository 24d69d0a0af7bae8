from ollama_tts.text.fit import measure, pieces
from ollama_tts.text.mapped import MappedText
from ollama_tts.text.marks import ControlMark
from ollama_tts.text.rules import TextRules

SMALL = TextRules(languages=("zh", "en"), max_chars=20, han_weight=2, marks=frozenset({"laugh"}))


def cut(text: str) -> list[tuple[str, str]]:
    return [(piece.text.strip(), pause) for piece, pause in pieces(MappedText.of(text), SMALL)]


def test_what_fits_stays_whole() -> None:
    assert cut("one two three") == [("one two three", "sentence")]


def test_clauses_first_then_words_then_han_then_anywhere() -> None:
    assert cut("one two, three four five six") == [
        ("one two,", "clause"),
        ("three four five six", "sentence"),
    ]
    assert cut("one two three four five six") == [
        ("one two three", "none"),
        ("four five six", "sentence"),
    ]
    assert [text for text, _ in cut("一二三四五六七八九十百千")] == ["一二三四五六", "七八九十百千"]
    assert [text for text, _ in cut("x" * 30)] == ["x" * 20, "x" * 10]


def test_marks_count_as_they_are_written() -> None:
    mark = ControlMark("laugh").place
    assert measure(f"ab{mark}好", SMALL) == 2 + len("[laugh]") + 2
    assert len(cut(f"one two {mark} three four")) == 2
