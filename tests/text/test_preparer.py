import pytest

from ollama_tts.text import prepare
from ollama_tts.text.explain import explain
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import CHATTTS_RULES, TextRules

ANY = TextRules(languages=("en", "zh"), alphabet="any", max_chars=60)
ENGLISH = TextRules(languages=("en",))


def said(text: str, rules: TextRules = CHATTTS_RULES) -> list[str]:
    return [utterance.text for utterance in prepare(text, rules=rules)]


def test_a_text_fed_by_character_gives_the_same_utterances() -> None:
    text = "# Plan\n\n- Read [the map](https://a.b/c?d=1. e). It is 3.14 long! 好的。再见\n"
    preparer = Preparer(CHATTTS_RULES)
    pieces = [utterance for char in text for utterance in preparer.feed(char)]
    assert pieces + preparer.finish() == prepare(text)


def test_a_long_text_gives_its_first_utterance_before_the_rest_is_looked_at() -> None:
    preparer = Preparer(CHATTTS_RULES)
    stream = preparer.stream("One sentence is here. " * 5000)
    first = next(stream)
    assert (first.start, first.end) == (0, 22)
    assert len([first, *stream, *preparer.finish()]) == 5000


def test_marks_stand_in_the_text_in_order() -> None:
    [utterance] = prepare("Good evening [uv_break] everyone [laugh] please sit down [lbreak]")
    assert utterance.text == "Good evening [uv_break] everyone [laugh] please sit down [lbreak]"
    assert utterance.controls == ("uv_break", "laugh", "lbreak")


def test_a_fragment_joins_what_follows_but_not_over_a_line() -> None:
    assert said("No. I said no.") == ["No. I said no."]
    assert said("No.\nI said no.") == ["No.", "I said no."]
    assert said("I said no. No.") == ["I said no.", "No."]
    assert said("好。我走了。") == ["好。我走了。"]


def test_what_nobody_can_say_belongs_to_the_next_utterance() -> None:
    [first, second] = prepare("…\n\nHello there.\n---\nBye now.")
    assert (first.text, first.source) == ("Hello there.", "…\n\nHello there.\n")
    assert second.source == "---\nBye now."


def test_any_alphabet_is_untouched_but_for_marks() -> None:
    account = explain("  It's $5 — 好 😀 **x** [laugh]. Next!", rules=ANY)
    assert [u["text"] for u in account["utterances"]] == ["It's $5 — 好 😀 **x** .", "Next!"]
    assert [d["reason"] for d in account["dropped"]] == ["control mark"]


def test_without_normalisation_numbers_are_on_the_account() -> None:
    preparer = Preparer(CHATTTS_RULES, normalize=False)
    [utterance] = preparer.feed("I have 3 cats.") + preparer.finish()
    assert utterance.text == "I have cats."
    assert [(d.text, d.reason) for d in preparer.dropped] == [("3", "not in the voice's alphabet")]


def test_a_voice_that_reads_numbers_gets_them() -> None:
    rules = TextRules(languages=("en",), reads_numbers=True)
    assert said("It cost $4.2 million, **up** 12.5%.", rules) == ["It cost $4.2 million, up 12.5%."]


def test_voices_of_words_keep_apostrophes_acronyms_and_marks_of_mood() -> None:
    assert said("Don't we use USB? Yes!", ENGLISH) == ["Don't we use USB?", "Yes!"]
    assert said("Café “Zürich” costs €5.", ENGLISH) == ["Cafe Zurich costs five euros."]


def test_chattts_has_no_apostrophes() -> None:
    assert said("We'll see, don't worry: I'd go, he'd better.") == [
        "We will see, dont worry, I would go, he had better."
    ]


def test_homophones_are_replaced_last() -> None:
    rules = TextRules(("zh",), alphabet="chattts", homophones={"十": "石"})
    assert said("共10个。", rules) == ["共石个。"]


def test_the_language_can_be_chosen() -> None:
    assert [u.text for u in prepare("iPhone 15", language="zh")] == ["iPhone 十五"]
    assert [u.text for u in prepare("iPhone 15", language="en")] == ["iPhone fifteen"]
    assert [u.language for u in prepare("Привет", language="en")] == ["ru"]


def test_numbers_longer_than_an_utterance_are_cut_and_share_their_source() -> None:
    utterances = prepare("1" * 200)
    assert len(utterances) > 1
    assert " ".join(u.text for u in utterances).split() == ["one"] * 200
    assert "".join(u.source for u in utterances) == "1" * 200


@pytest.mark.parametrize("language", ["auto", "en", "zh"])
def test_an_empty_text_gives_nothing(language: str) -> None:
    assert prepare("", language) == []
