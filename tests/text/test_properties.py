"""What holds for every text."""

import itertools

from hypothesis import given, settings, strategies as st

from ollama_tts.text.account import Dropped, PreparedUtterance
from ollama_tts.text.marks import NAMES
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import CHATTTS_RULES, TextRules
from tests.support.written_texts import cuts, texts

RULES = {
    "chattts": CHATTTS_RULES,
    "small": TextRules(languages=("zh", "en"), max_chars=40, alphabet="chattts", han_weight=2),
    "english": TextRules(languages=("en",), max_chars=80),
    "numbers": TextRules(languages=("en",), max_chars=80, reads_numbers=True),
    "any": TextRules(languages=("en", "zh", "ja"), max_chars=60, alphabet="any"),
}
kinds = st.sampled_from(sorted(RULES))
latencies = st.sampled_from(["low", "balanced"])


def run(
    text: str, kind: str, latency: str = "balanced", sizes: list[int] | None = None
) -> tuple[list[PreparedUtterance], list[Dropped]]:
    preparer = Preparer(RULES[kind], latency=latency)
    out: list[PreparedUtterance] = []
    if sizes is None:
        out += preparer.feed(text)
    else:
        place = 0
        for size in itertools.cycle(sizes):
            out += preparer.feed(text[place : place + size])
            place += size
            if place >= len(text):
                break
    return out + preparer.finish(), preparer.dropped


@settings(max_examples=600, deadline=None)
@given(texts(), kinds, latencies)
def test_every_character_is_in_one_utterance_or_on_the_account(
    text: str, kind: str, latency: str
) -> None:
    utterances, dropped = run(text, kind, latency)
    spoken = [0] * len(text)
    lost = [0] * len(text)
    for utterance in utterances:
        assert text[utterance.start : utterance.end] == utterance.source
        for place in range(utterance.start, utterance.end):
            spoken[place] += 1
    for entry in dropped:
        assert text[entry.start : entry.end] == entry.text != ""
        assert entry.reason
        for place in range(entry.start, entry.end):
            lost[place] += 1
    assert max(spoken, default=0) <= 1
    assert max(lost, default=0) <= 1
    assert all(a or b for a, b in zip(spoken, lost, strict=True))


@settings(max_examples=600, deadline=None)
@given(texts(), kinds, latencies, cuts())
def test_it_does_not_matter_how_the_text_arrives(
    text: str, kind: str, latency: str, sizes: list[int]
) -> None:
    assert run(text, kind, latency) == run(text, kind, latency, sizes)


@settings(max_examples=600, deadline=None)
@given(texts(), kinds)
def test_no_utterance_is_over_the_limit_or_has_nothing_to_say(text: str, kind: str) -> None:
    utterances, _ = run(text, kind)
    rules = RULES[kind]
    for utterance in utterances:
        weights = [rules.han_weight if char >= "\u2e80" else 1 for char in utterance.text]
        assert sum(weights) <= rules.max_chars
        bare = utterance.text
        for name in utterance.controls:
            assert name in NAMES
            bare = bare.replace(f"[{name}]", "", 1)
        assert any(char.isalnum() for char in bare)
        assert utterance.text == utterance.text.strip()
