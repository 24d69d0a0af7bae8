"""Written text to words: which rules apply to a text in a language."""

import re

from ollama_tts.text.mapped import MappedText
from ollama_tts.text.rules import TextRules

_DIGITS = "zero one two three four five six seven eight nine".split()
_HAN_DIGITS = "零一二三四五六七八九"
_DIGIT = re.compile(r"\d")


def normalize_words(text: MappedText, language: str, rules: TextRules) -> MappedText:
    """`text` with numbers, symbols and abbreviations written out in `language`."""
    if rules.reads_numbers:
        return text
    if language == "zh":
        return text.rewrite(_DIGIT, lambda match: _HAN_DIGITS[int(match[0])])
    return text.rewrite(_DIGIT, lambda match: f" {_DIGITS[int(match[0])]} ")
