"""TEXT may stand before, behind and between the options."""

from pathlib import Path

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "hibari", "", "-o", "e.wav"], "nothing to speak"),
        (["run", "hibari", "  ", "-o", "e.wav"], "nothing to speak"),
        (["run", "hibari", "hi", "-o", "x.xyz"], "the ending says no format"),
        (["run", "hibari", "hi", "-o", "no-such-folder/x.wav"], "there is no folder"),
    ],
)
def test_a_slip_is_told_and_makes_no_file(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    assert main(words) == 1
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("*.wav"))
