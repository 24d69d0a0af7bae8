import pytest

from ollama_tts.text.account import Account
from ollama_tts.text.fold import fold
from ollama_tts.text.mapped import MappedText


def folded(text: str) -> tuple[str, list[str]]:
    account = Account()
    mapped = fold(MappedText.of(text), account)
    return mapped.text, [entry.reason for entry in account.entries(0, text)]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Ａ１％", "A1%"),
        ("１，２３４．５", "1,234.5"),
        ("１２：３０", "12:30"),
        ("你好，世界：（好）", "你好，世界：（好）"),
        ("ﬁ ﬂ", "fi fl"),
        ("e\u0301", "é"),
        ("a\u00a0b\u3000c", "a b c"),
        ("ａ～ｂ", "a~b"),
        ("½ 21℃ m²", "½ 21℃ m²"),
        ("①", "1"),
        ("㎏", "kg"),
        ("5−3", "5-3"),
    ],
)
def test_plain_forms(text: str, plain: str) -> None:
    assert folded(text) == (plain, [])


@pytest.mark.parametrize(
    ("text", "plain", "reason"),
    [
        ("a😀b", "ab", "emoji"),
        ("a👩‍👩‍👧b", "ab", "emoji"),
        ("🇩🇪", "", "emoji"),
        ("1️⃣", "", "emoji"),
        ("a\u200bb", "ab", "control character"),
        ("a\x00b", "ab", "control character"),
        ("\ud800", "", "not a character"),
        ("\ue500", "", "not a character"),
        ("\u0301", "", "combining mark"),
        ("Acme™", "Acme", "symbol"),
    ],
)
def test_what_has_no_sound_is_dropped(text: str, plain: str, reason: str) -> None:
    assert folded(text) == (plain, [reason])
