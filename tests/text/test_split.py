import pytest

from ollama_tts.text.split import Segment, Splitter


def cut(text: str, limit: int = 200, *, early: bool = False) -> list[Segment]:
    splitter = Splitter(limit, han_weight=2, early=early)
    segments = splitter.feed(text) + splitter.finish()
    assert "".join(segment.text for segment in segments) == text
    return segments


def texts(text: str, limit: int = 200) -> list[str]:
    return [segment.text.strip() for segment in cut(text, limit)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One here. Two here. Three.", 3),
        ("It is 3.14 here, v2.10.3 there and 22,5 too.", 1),
        ("See e.g. this and i.e. that.", 1),
        ("Mr. Brown met Mrs. Green and Prof. Lin.", 1),
        ("Ask J. R. Okoro.", 1),
        ("We took plan B. Then we left.", 2),
        ("He lives in the U.S. Army camp.", 1),
        ("He lives in the U.S. It is big.", 2),
        ("At 9 a.m. today. At 5 p.m. They left.", 3),
        ("See no. 5 here. He said no. Then he left.", 3),
        ("Wait... what is it? Wait... What?", 3),
        ('He said "No." Then he left.', 2),
        ("Go to https://a.b/c?d=1.e now. Done.", 2),
        ("Really?! Yes! (Sure.) Fine.", 4),
        ("好的。走吧！真的吗？是。", 4),
        ("他说：“好的。走吧！”然后走了。", 3),
        ("用 Python.然后写。", 2),
        ("1.苹果 2.香蕉", 1),
        ("A link [one. Two](http://x.y/a. b) here.", 1),
        ("Some `code. More` here.", 1),
        ("Unclosed [bracket here. Next one.", 2),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len(cut(text)) == count


def test_lines_end_utterances_and_blank_lines_end_paragraphs() -> None:
    segments = [s for s in cut("# Head\n\n- one\n- two.\nthree") if s.text.strip()]
    assert [segment.pause for segment in segments] == ["paragraph", "line", "line", "sentence"]


def test_a_long_line_that_goes_on_in_small_letters_is_one_sentence() -> None:
    assert len(cut("This line was wrapped by hand when it grew too long for a\nscreen.")) == 1
    assert len(cut("A short line\nand another")) == 2
    assert len(cut("This line was wrapped by hand when it grew too long for a\nScreen.")) == 2


def test_fenced_code_is_apart_and_fenced_text_is_text() -> None:
    kinds = [(s.text, s.kind) for s in cut("Hi.\n```py\nx = 1\n```\nBye.\n~~~text\nRead me\n~~~\n")]
    assert kinds == [
        ("Hi.\n", "text"),
        ("```py\n", "fence"),
        ("x = 1\n", "code"),
        ("```\n", "fence"),
        ("Bye.\n", "text"),
        ("~~~text\n", "fence"),
        ("Read me\n", "text"),
        ("~~~\n", "fence"),
    ]


def test_an_open_fence_lasts_to_the_end_and_comes_in_pieces() -> None:
    segments = cut("```\n" + "x" * 10_000)
    assert {segment.kind for segment in segments} == {"fence", "code"}
    assert max(len(segment.text) for segment in segments) <= 4096


def test_too_long_is_cut_at_a_comma_else_between_words_else_between_han() -> None:
    assert texts("one two three four, five six seven eight nine", 30) == [
        "one two three four,",
        "five six seven eight nine",
    ]
    assert texts("one two three four five six seven", 20) == [
        "one two three four",
        "five six seven",
    ]
    assert texts("一二三四五六七", 10) == ["一二三四五", "六七"]


def test_a_forced_cut_stays_away_from_numbers_and_links() -> None:
    assert texts("It came to about $4.2 million in all", 24)[0] == "It came to"
    assert texts("Read all about [the new map](http://x.y/z) here", 24)[0] == "Read all about"
    assert cut("x" * 50 + " y", 20)[0].text == "x" * 20


def test_an_early_clause_goes_first_and_only_once() -> None:
    pauses = [
        s.pause
        for s in cut("When it rained, we stayed in, all day. Then, later, we left.", early=True)
    ]
    assert pauses == ["clause", "sentence", "sentence"]
    assert len(cut("Well, yes.", early=True)) == 1
    assert [s.text for s in cut("今天天气真的很好，我们走吧。好！", early=True)] == [
        "今天天气真的很好，",
        "我们走吧。",
        "好！",
    ]


def test_a_sentence_goes_as_soon_as_its_space_is_there() -> None:
    splitter = Splitter(200)
    assert splitter.feed("Hello there.") == []
    assert splitter.feed(" ") == [Segment("Hello there. ", 0, "sentence")]
    low = Splitter(200, early=True)
    assert low.feed("你好。") == [Segment("你好。", 0, "sentence")]


def test_marks_behind_a_sentence_belong_to_it_where_the_voice_has_marks() -> None:
    text = "Funny. [laugh] [uv_break] Next one. [link] 好。[laugh]完"
    splitter = Splitter(200, marks=True)
    fed = [segment for char in text for segment in splitter.feed(char)] + splitter.finish()
    assert [segment.text for segment in fed] == [
        "Funny. [laugh] [uv_break]",
        " Next one. ",
        "[link] 好。[laugh]",
        "完",
    ]
    whole = Splitter(200, marks=True)
    assert whole.feed(text) + whole.finish() == fed
    assert len(cut(text)) == 4
    assert cut(text)[0].text == "Funny. "
