import codecs

import pytest
from hypothesis import example, given, settings

from ollama_tts import modelfile
from ollama_tts.errors import InvalidModelfile, TooLarge
from ollama_tts.modelfile import Command
from tests.support.go_parser import go_parse
from tests.support.modelfiles import lines, soup, spaced


def ours(text: str | bytes) -> list[tuple[str, str]] | str:
    try:
        return [(c.name, c.args) for c in modelfile.parse(text)]
    except InvalidModelfile as error:
        return str(error)


@settings(max_examples=1500)
@given(soup | spaced | lines)
@example("PARAMETER  two_blanks 1\nFROM x")
@example("\u00a0FROM x")
@example("FROM \nSYSTEM \n")
@example('FROM x\nSYSTEM "\n"')
@example('FROM x\nSYSTEM """\n"')
@example('FROM x\nSYSTEM """""\n"""')
@example("FROM x\nMESSAGE  user x")
@example("FROM x\nS")
@example("FROM x\nPARAMETER ")
def test_same_as_the_parser_of_ollama(text: str) -> None:
    assert ours(text) == go_parse(text)


@given(soup | lines)
def test_bytes_in_any_encoding_mean_the_text(text: str) -> None:
    expected = ours(text)
    assert ours(text.encode()) == expected
    assert ours(codecs.BOM_UTF8 + text.encode()) == expected
    assert ours(codecs.BOM_UTF16_LE + text.encode("utf-16-le")) == expected
    assert ours(codecs.BOM_UTF16_BE + text.encode("utf-16-be")) == expected
    assert ours("\ufeff" + text) == expected


def test_set_is_parameter() -> None:
    text = "FROM a\nSET custom_metrics true\nset voice v 1\n"
    assert modelfile.parse(text) == [
        Command("model", "a"),
        Command("custom_metrics", "true"),
        Command("voice", "v 1"),
    ]


def test_lines_are_those_of_an_editor() -> None:
    text = 'FROM a\r\n# c\r\nSYSTEM """x\r\ny"""\r\nPARAMETER seed 1\rSET voice v\n'
    assert [c.line for c in modelfile.parse(text)] == [1, 3, 5, 6]


REFUSED = [
    ("FROM a\r\nPARAMETER seed 1\r\nBAD x\r\n", 3, '"BAD"'),
    ("FROM chattts\nPARAMETER temperature\n", 2, '"temperature"'),
    ("FROM chattts\nTEMPERATURE 0.3\n", 2, '"TEMPERATURE"'),
    ("FROM a\nPARAMETER num-gpu 1\n", 2, '"num-"'),
    ("FROM a\nMESSAGE User hi\n", 2, '"User"'),
    ("FROM a\nMESSAGE user", 2, '"user"'),
    ("FROM a\n\n\nSYS", 4, '"SYS"'),
    ('FROM a\nSYSTEM """x\ny', 2, '"""'),
    ("SET a\n", 1, '"a"'),
    ("\n123 x", 2, '"12"'),
]


@pytest.mark.parametrize(("text", "line", "word"), REFUSED)
def test_a_refusal_names_the_line_the_word_and_what_is_allowed(
    text: str, line: int, word: str
) -> None:
    with pytest.raises(InvalidModelfile) as caught:
        modelfile.parse(text)
    error = caught.value
    assert error.line == line
    assert word in error.detail
    assert error.explained.startswith(f"(line {line}): ")
    assert error.explained.count("(line") == 1
    allowed = ("must be one of", "is followed by", "is not closed")
    assert any(words in error.explained for words in allowed)


def test_no_from_has_no_line_and_says_what_to_write() -> None:
    with pytest.raises(InvalidModelfile) as caught:
        modelfile.parse("PARAMETER seed 5\n")
    assert (str(caught.value), caught.value.line) == ("no FROM line", None)
    assert "FROM hibari" in caught.value.explained


def test_a_comment_may_hold_keywords() -> None:
    text = "parameter top_k 30\nParameter seed 5\n# from here on: system text\nfrom chattts\n"
    assert [c.name for c in modelfile.parse(text)] == ["top_k", "seed", "model"]


def test_undecodable_bytes_do_not_stop_it() -> None:
    assert modelfile.parse(b"FROM a\nSYSTEM \xff\xfe x") == [
        Command("model", "a"),
        Command("system", "\ufffd\ufffd x"),
    ]
    assert (
        modelfile.parse(codecs.BOM_UTF16_LE + "FROM a".encode("utf-16-le") + b"x")[0].args
        == "a\ufffd"
    )


LIMIT = modelfile.MAX_MODELFILE_BYTES


@pytest.mark.parametrize(
    "text",
    [
        "FROM a\nSYSTEM " + "word " * 700_000,
        'FROM a\nSYSTEM """' + 'a "" \n' * 600_000 + '"""',
        "FROM a\n" + "SET a 1\n" * 400_000,
        "FROM a\nSYSTEM " + "\u00a0" * 3_000_000,
        "FROM a\n" + "#\n" * 1_500_000,
        "FROM a" + " " * 4_000_000,
    ],
    ids=["words", "quotes", "commands", "unprintable", "comments", "blanks"],
)
def test_four_megabytes_are_read_in_one_pass(text: str) -> None:
    assert modelfile.parse(text)[0].name == "model"


@pytest.mark.parametrize("text", ["x" * (LIMIT + 1), b"x" * (LIMIT + 1)])
def test_more_is_refused(text: str | bytes) -> None:
    with pytest.raises(TooLarge, match=str(LIMIT)):
        modelfile.parse(text)
