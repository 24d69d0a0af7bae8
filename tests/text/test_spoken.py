"""Written and spoken pairs, from what a native speaker would say."""

import re
from pathlib import Path

import pytest

from ollama_tts.text import prepare

TABLE = Path(__file__).parent / "data" / "spoken.tsv"
ROWS = [
    tuple(line.split("\t"))
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def plain(text: str) -> str:
    """Words alone: no case, no punctuation, no space beside Chinese."""
    words = " ".join(re.sub(r"[^\w\s]|_", "" if False else " ", text.replace("'", "")).lower().split())
    return re.sub(r"(?<=[\u4e00-\u9fff]) | (?=[\u4e00-\u9fff])", "", words)


def said(written: str) -> str:
    return " ".join(utterance.text for utterance in prepare(written))


def wrong() -> list[tuple[str, str, str]]:
    return [
        (written, spoken, said(written))
        for _, written, spoken in ROWS
        if plain(said(written)) != plain(spoken)
    ]
