"""Pages of bare signs cost no more than pages of words: each stretch is prepared few times."""

import pytest
from typing_extensions import override

from ollama_tts.text import atoms
from ollama_tts.text.account import Account
from ollama_tts.text.mapped import MappedText
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import CHATTTS_RULES, TextRules


class Counting(Preparer):
    """Counts the characters that go through the expensive steps."""

    chars = 0

    @override
    def _words(self, text: MappedText, language: str, account: Account) -> MappedText:
        self.chars += len(text.text)
        return super()._words(text, language, account)


@pytest.mark.parametrize("rules", [TextRules(), CHATTTS_RULES], ids=["words", "chattts"])
@pytest.mark.parametrize("sign", ["#\n", ". ", "…", "- \n", "!\n", "> \n", "😀 "])
def test_bare_signs_are_not_prepared_anew_for_each_of_them(sign: str, rules: TextRules) -> None:
    text = sign * 4000
    preparer = Counting(rules)
    for start in range(0, len(text), 500):
        preparer.feed(text[start : start + 500])
    preparer.finish()
    assert preparer.chars < 6 * len(text)


def test_brackets_in_an_address_are_followed_a_few_deep_only() -> None:
    assert atoms.bracket_end("[a](b(c)d) e", 0, final=True) == 10
    text = "[a](" * 1000
    assert atoms.bracket_end(text, 0, final=True) == 1
