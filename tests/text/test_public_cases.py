"""Faults that users reported of servers of this kind, as texts; `data/public-cases.json`."""

import json
import random
import re
from pathlib import Path

import pytest

from ollama_tts.text import prepare
from ollama_tts.text.explain import explain
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import CHATTTS_RULES

CASES = {
    case["id"]: case["input"]
    for case in json.loads(
        (Path(__file__).parent / "data" / "public-cases.json").read_text(encoding="utf-8")
    )
}


def texts_of(case: str) -> list[str]:
    found = CASES[case]
    if "texts" in found:
        return list(found["texts"])
    requests = found["requests"] if "requests" in found else [found["request"]]
    return [request["json"].get("prompt") or request["json"]["input"] for request in requests]


def words(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text).lower().split())


def said(text: str) -> list[str]:
    return [utterance.text for utterance in prepare(text)]


def test_pc_001_digits_become_words() -> None:
    [text] = texts_of("pc-001")
    spoken = "".join(said(text))
    assert not re.search("[0-9]", spoken)
    assert re.search("四零零八(一|幺)二三四五六", spoken)
    assert "四月十五日" in spoken
    assert explain(text)["dropped"] == []


def test_pc_002_full_width_is_folded() -> None:
    wide, narrow = map(said, texts_of("pc-002"))
    assert wide == narrow
    assert "三" in wide[0]
    assert "零四七" in wide[0]
    assert "B" in wide[0]


def test_pc_003_marks_are_intact_and_nothing_else() -> None:
    first, second = texts_of("pc-003")
    utterances = prepare(first)
    assert [mark for u in utterances for mark in u.controls] == ["uv_break", "laugh", "lbreak"]
    bare = re.sub(r"\[(?:uv_break|laugh|lbreak)\]", " ", " ".join(said(first)))
    assert words(bare).split() == ["good", "evening", "everyone", "please", "sit", "down"]
    assert not re.search("uv_break|laugh|lbreak", "".join(said(second)))


def test_pc_005_emoji_and_decoration() -> None:
    [text] = texts_of("pc-005")
    expected = "done lights are on and heating is at twenty one degrees celsius"
    assert words(" ".join(said(text))) == expected
    assert [entry["reason"] for entry in explain(text)["dropped"]] == ["emoji"]


def test_pc_006_markdown() -> None:
    [text] = texts_of("pc-006")
    utterances = prepare(text)
    assert [words(utterance.text) for utterance in utterances] == [
        "weekly plan",
        "monday read chapter three",
        "see the map",
    ]
    assert {utterance.pause for utterance in utterances} <= {"line", "paragraph"}


def test_pc_007_money_with_scale_words() -> None:
    [text] = texts_of("pc-007")
    [spoken] = said(text)
    assert "four point two million dollars" in spoken
    assert "twelve point five percent" in spoken
    assert re.search("nine hundred (and )?eighty euros", spoken)
    assert "nineteen ninety nine" in spoken
    assert not re.search(r"[0-9$€]", spoken)


def test_pc_008_no_cut_in_abbreviations_and_decimals() -> None:
    for text, count in zip(texts_of("pc-008"), (3, 2), strict=True):
        utterances = prepare(text)
        assert len(utterances) == count
        assert "".join(utterance.source for utterance in utterances) == text
        preparer = Preparer(CHATTTS_RULES)
        streamed = [utterance for char in text for utterance in preparer.feed(char)]
        assert streamed + preparer.finish() == utterances


def test_pc_009_line_breaks_end_utterances() -> None:
    [text] = texts_of("pc-009")
    utterances = prepare(text)
    assert [words(utterance.text) for utterance in utterances] == [
        "bring these",
        "rope",
        "lamp",
        "water",
    ]
    assert [utterance.pause for utterance in utterances[:-1]] == ["line"] * 3


def random_text(draw: random.Random) -> str:
    parts = [
        *WORDS,
        *("! ", "? ", ". ", ", ", "\n", "\n- ", "\n1. ", " "),
    ]
    text = ""
    while len(text) < draw.randint(1, 600):
        text += draw.choice(parts)
    return text[:600]


@pytest.mark.parametrize("hundred", range(10))
def test_pc_010_random_texts_in_pieces(hundred: int) -> None:
    for seed in range(100):
        check_in_pieces(random.Random(100 * hundred + seed))


def check_in_pieces(draw: random.Random) -> None:
    text = random_text(draw)
    preparer = Preparer(CHATTTS_RULES)
    utterances = []
    place = 0
    while place < len(text):
        size = draw.randint(1, 7)
        utterances += preparer.feed(text[place : place + size])
        place += size
    utterances += preparer.finish()
    assert utterances == prepare(text)
    covered = [False] * len(text)
    for start, end in [(u.start, u.end) for u in utterances] + [
        (d.start, d.end) for d in preparer.dropped
    ]:
        covered[start:end] = [True] * (end - start)
    assert all(covered)
    for utterance in utterances[:-1]:
        around = text[utterance.end - 1 : utterance.end + 1]
        assert not re.fullmatch("[A-Za-z0-9]{2}", around)


WORDS = (
    "你好",
    "世界",
    "今天",
    "hello",
    "World",
    "a.m.",
    "3.14",
    "12,000",
    "，",
    "。",
    "；",
    "100",
)
CLAUSE = "the boats came home in the evening,"


@pytest.mark.parametrize(
    "text",
    [
        " ".join([CLAUSE] * 20).removesuffix(",") + ".",
        " ".join([CLAUSE.rstrip(",")] * 20),
        "今天天气真的非常好" * 55 + "今天天气真",
    ],
)
def test_pc_013_a_sentence_that_is_too_long(text: str) -> None:
    utterances = prepare(text)
    joined = " ".join(utterance.text for utterance in utterances)
    if text.isascii():
        assert words(joined) == words(text)
        assert len(words(text).split()) == 140
    else:
        assert len(text) == 500
        assert joined.replace(" ", "") == text
    for utterance in utterances:
        wide = sum(char >= "\u2e80" for char in utterance.text)
        assert len(utterance.text) + wide <= CHATTTS_RULES.max_chars
    if "," in text:
        assert all(utterance.text.endswith((",", ".")) for utterance in utterances)


@pytest.mark.parametrize("text", CASES["pc-015"]["texts"])
def test_pc_015_nothing_to_say(text: str) -> None:
    account = explain(text)
    assert account["utterances"] == []
    assert "".join(str(entry["text"]) for entry in account["dropped"]) == text


def test_pc_016_mixed_sentence() -> None:
    [text] = texts_of("pc-016")
    [spoken] = said(text)
    assert "machine learning" in spoken
    assert "U S B" in spoken
    assert "五 G" in spoken
    assert "everyone" in spoken
    for part in ("会议主题是", "请带上", "线和", "卡", "谢谢"):
        assert part in spoken
