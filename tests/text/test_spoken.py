"""Written and spoken pairs, from what a native speaker would say."""

import re
from pathlib import Path

from ollama_tts.text import prepare

TABLE = Path(__file__).parent / "data" / "spoken.tsv"
DOCS = Path(__file__).parents[2] / "docs" / "text.md"
ROWS = [
    tuple(line.split("\t"))
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def plain(text: str) -> str:
    """Words alone: no case, no punctuation, no space beside Chinese."""
    bare = re.sub(r"[^\w\s]|_", " ", text.replace("'", "")).lower()
    return re.sub(r"(?<=[\u4e00-\u9fff]) | (?=[\u4e00-\u9fff])", "", " ".join(bare.split()))


def said(written: str) -> str:
    """What the default voice is given for `written`."""
    return " ".join(utterance.text for utterance in prepare(written))


def wrong() -> list[str]:
    """The written forms that are not said as the table wants."""
    return [written for _, written, spoken in ROWS if plain(said(written)) != plain(spoken)]


def test_the_table_is_large_and_has_every_kind_once() -> None:
    assert len(ROWS) >= 300
    assert len({written for _, written, _ in ROWS}) == len(ROWS)


def test_at_least_97_percent_are_said_as_a_native_speaker_would() -> None:
    assert len(wrong()) <= 0.03 * len(ROWS), wrong()


def test_those_that_are_not_are_listed_in_the_docs() -> None:
    listed = DOCS.read_text(encoding="utf-8")
    assert [written for written in wrong() if written not in listed] == []
