"""Thinking between tags, however the tokens cut it."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from ollama_tts.upstream.thinking import Unthought

CASES = [
    ("<think>a</think>b", "b"),
    (" \n<think>a</think>\n\n b c", "b c"),
    ("<thinking>a</think>b</thinking>c", "c"),
    ("<think></think>b", "b"),
    ("<think>a < b </thin></think>c <think>d</think>", "c <think>d</think>"),
    ("<think>never closed", ""),
    ("<thinker>a", "<thinker>a"),
    ("<thi", "<thi"),
    ("  <", "  <"),
    ("  text first <think>a</think>", "  text first <think>a</think>"),
    ("</think>a", "</think>a"),
    ("", ""),
    (" \n", " \n"),
]


def told(parts: list[str]) -> str:
    unthought = Unthought()
    return "".join(unthought.feed(part) for part in parts) + unthought.finish()


@pytest.mark.parametrize(("text", "spoken"), CASES)
def test_thinking_goes_and_text_stays(text: str, spoken: str) -> None:
    assert told([text]) == spoken
    assert told(list(text)) == spoken


@given(st.sampled_from(CASES), st.sets(st.integers(0, 50)))
def test_cuts_change_nothing(case: tuple[str, str], cuts: set[int]) -> None:
    text, spoken = case
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    assert told([text[start:end] for start, end in pairwise(places)]) == spoken


@given(st.text(alphabet="<think/> a\n").filter(lambda text: not text.strip().startswith("<")))
def test_text_that_does_not_begin_with_a_tag_is_kept_whole(text: str) -> None:
    assert told(list(text)) == text
