"""The account: nothing that could be said goes missing between the steps."""

from hypothesis import given, settings

from ollama_tts.text.account import Account
from ollama_tts.text.acronyms import spell_acronyms
from ollama_tts.text.alphabet import confine
from ollama_tts.text.explain import explain
from ollama_tts.text.fold import fold
from ollama_tts.text.languages import main_language
from ollama_tts.text.mapped import MappedText
from ollama_tts.text.markdown import strip_markdown
from ollama_tts.text.normalize import normalize_words
from ollama_tts.text.rules import CHATTTS_RULES
from tests.support.written_texts import texts


def prepared(text: str, account: Account) -> MappedText:
    mapped = strip_markdown(fold(MappedText.of(text), account), account)
    mapped = normalize_words(mapped, main_language(mapped.text) or "en", account)
    return confine(spell_acronyms(mapped), CHATTTS_RULES, account)


@settings(max_examples=600, deadline=None)
@given(texts())
def test_a_letter_digit_or_symbol_is_in_the_prepared_text_or_dropped(text: str) -> None:
    account = Account()
    mapped = prepared(text, account)
    kept = [False] * len(text)
    for start, end in zip(mapped.starts, mapped.ends, strict=True):
        kept[start:end] = [True] * (end - start)
    for entry in account.entries(0, text):
        kept[entry.start : entry.end] = [True] * (entry.end - entry.start)
    apostrophes = "ʻʼ"
    lost = [c for c, known in zip(text, kept, strict=True) if not known and c not in apostrophes]
    assert [char for char in lost if char.isalnum() or char in "$€%&@+=<>"] == []


@settings(max_examples=300, deadline=None)
@given(texts())
def test_the_source_of_a_prepared_text_never_runs_backwards(text: str) -> None:
    mapped = prepared(text, Account())
    assert list(mapped.starts) == sorted(mapped.starts)
    assert all(0 <= a < b <= len(text) for a, b in zip(mapped.starts, mapped.ends, strict=True))


def test_entries_are_in_order_joined_and_never_overlap() -> None:
    account = Account()
    for start, end, reason in ((5, 7, "b"), (0, 3, "a"), (2, 4, "a"), (6, 9, "c"), (4, 4, "d")):
        account.drop(start, end, reason)
    found = [(e.start, e.end, e.text, e.reason) for e in account.entries(0, "0123456789")]
    assert found == [(0, 4, "0123", "a"), (5, 7, "56", "b"), (7, 9, "78", "c")]


def test_explain_has_the_keys_of_the_contract() -> None:
    account = explain("Hi 😀 [laugh] there. See [it](http://a.b).")
    assert [list(entry) for entry in account["utterances"]] == [
        ["text", "language", "controls", "start", "end"]
    ] * 2
    assert account["utterances"][0]["controls"] == ["laugh"]
    assert [(entry["text"], entry["reason"]) for entry in account["dropped"]] == [
        ("😀", "emoji"),
        ("[", "markdown"),
        ("](http://a.b)", "link address"),
    ]
