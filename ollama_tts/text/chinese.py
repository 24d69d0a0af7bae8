"""Written Chinese to what is said: all rules in their order."""

import re

from ollama_tts.text.account import Account
from ollama_tts.text.addresses import Words, address_rules
from ollama_tts.text.chinese_amounts import AMOUNT_RULES
from ollama_tts.text.chinese_dates import CODE_RULES, DATE_RULES
from ollama_tts.text.chinese_numbers import spoken
from ollama_tts.text.chinese_words import NUMBER_RULES, SIGN_RULES, WORD_RULES
from ollama_tts.text.mapped import MappedText
from ollama_tts.text.rule import Rule, apply_rules

ADDRESS_RULES = address_rules(
    Words(
        dot="点", at="艾特", slash="斜杠", dash="杠", underscore="下划线", plus="加", number=spoken
    )
)
_RULES: tuple[Rule, ...] = (
    *ADDRESS_RULES,
    *CODE_RULES,
    *DATE_RULES,
    *WORD_RULES,
    *AMOUNT_RULES,
    *NUMBER_RULES,
    *SIGN_RULES,
)
_GAP = re.compile(r"(?<=[\u3400-\u9fff，。、]) +(?=[\u3400-\u9fff，。、])")


def chinese(text: MappedText, account: Account) -> MappedText:
    """`text` with numbers, dates and signs as they are said in Chinese."""
    return apply_rules(text, _RULES, account).rewrite(_GAP, lambda _: "")
