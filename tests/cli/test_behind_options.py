"""TEXT may stand before, behind and between the options."""

import pytest

from ollama_tts.cli.arguments import parser
from ollama_tts.cli.main import main, parse


@pytest.mark.parametrize(
    "words",
    [
        ["run", "m", "hi there", "-o", "x.wav"],
        ["run", "m", "-o", "x.wav", "hi there"],
        ["run", "-o", "x.wav", "m", "hi there"],
        ["run", "m", "--verbose", "-o", "x.wav", "--", "hi there"],
    ],
)
def test_text_is_found_wherever_it_stands(words: list[str]) -> None:
    arguments = parse(parser(), words)
    assert " ".join(arguments.text) == "hi there"
    assert arguments.output == "x.wav"


def test_text_that_looks_like_an_option_stands_behind_two_dashes() -> None:
    arguments = parse(parser(), ["run", "m", "--verbose", "--", "--text"])
    assert arguments.text == ["--text"]


@pytest.mark.parametrize("words", [["run", "m", "--nope"], ["ps", "extra"], ["ps", "--", "x"]])
def test_what_is_no_text_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parse(parser(), words)
    assert left.value.code == 2
    assert "unrecognized arguments" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "no-such-file.txt", "-o", "out"]) == 1
    assert capsys.readouterr().err.strip() == "Error: no-such-file.txt: No such file or directory"
