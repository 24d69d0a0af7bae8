"""Written English to words: all rules in their order."""

from ollama_tts.text.account import Account
from ollama_tts.text.addresses import Words, address_rules
from ollama_tts.text.english_amounts import AMOUNT_RULES
from ollama_tts.text.english_dates import CODE_RULES, DATE_RULES, YEAR_RULES
from ollama_tts.text.english_numbers import spoken
from ollama_tts.text.english_signs import NAME_RULES, SIGN_RULES
from ollama_tts.text.english_words import EARLY_RULES, ROMAN_RULES, WORD_RULES
from ollama_tts.text.mapped import MappedText
from ollama_tts.text.rule import Rule, apply_rules, rule

ADDRESS_RULES = address_rules(
    Words(
        dot="dot",
        at="at",
        slash="slash",
        dash="dash",
        underscore="underscore",
        plus="plus",
        number=spoken,
    )
)
DECIMAL_COMMA = rule(
    r"(?<![\w.,])(\d{1,4}),(\d{1,2})(?![\d,]|\.\d)", lambda m: f"{m[1]}.{m[2]}", sign=r"\d,\d"
)
_RULES: tuple[Rule, ...] = (
    DECIMAL_COMMA,
    *ADDRESS_RULES,
    *DATE_RULES,
    *CODE_RULES,
    *EARLY_RULES,
    *WORD_RULES,
    *AMOUNT_RULES,
    *YEAR_RULES,
    *ROMAN_RULES,
    *NAME_RULES,
    *SIGN_RULES,
)


def english(text: MappedText, account: Account) -> MappedText:
    """`text` with numbers, dates, signs and abbreviations in English words."""
    return apply_rules(text, _RULES, account)
