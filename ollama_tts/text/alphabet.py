"""The last step before the voice: only characters that it knows."""

import re
import unicodedata

from ollama_tts.text.account import Account
from ollama_tts.text.languages import HAN, letter_language
from ollama_tts.text.mapped import MappedText, Replacement
from ollama_tts.text.marks import PLACE
from ollama_tts.text.rules import TextRules

_CHATTTS_WRONG = re.compile(r"[^\u4e00-\u9fffA-Za-z，。、,. \ue000-\ue0ff]")
_WORDS_WRONG = re.compile(rf"[^{HAN}A-Za-z0-9，。、！？：；,.!?:;' \ue000-\ue0ff-]")
_NUMBERS_WRONG = re.compile(rf"[^{HAN}\x20-\x7e，。、！？：；€£¥°\ue000-\ue0ff]")
_CHATTTS = {
    "！": "。",
    "？": "。",
    "：": "，",
    "；": "，",
    "（": "，",
    "）": "，",
    "【": "，",
    "】": "，",
    "『": "，",
    "』": "，",
    "「": "，",
    "」": "，",
    "《": "，",
    "》": "，",
    "〈": "，",
    "〉": "，",
    "—": ", ",
    "–": ", ",
    "…": ", ",
    "!": ".",
    "?": ".",
    ":": ", ",
    ";": ", ",
    "(": ", ",
    ")": ", ",
    "[": ", ",
    "]": ", ",
    "{": ", ",
    "}": ", ",
    "-": " ",
    "_": " ",
    "/": " ",
    "·": " ",
    "\n": " ",
    "|": ", ",
    "•": ", ",
}
_WORDS = {
    "’": "'",
    "‘": "'",
    "—": ", ",
    "–": ", ",
    "…": ", ",
    "（": "，",
    "）": "，",
    "【": "，",
    "】": "，",
    "「": "，",
    "」": "，",
    "『": "，",
    "』": "，",
    "《": "",
    "》": "",
    "(": ", ",
    ")": ", ",
    "[": ", ",
    "]": ", ",
    "{": ", ",
    "}": ", ",
    "_": " ",
    "/": " ",
    "\n": " ",
    "|": ", ",
    "•": ", ",
    "·": " ",
}
_QUOTES = "\"'“”‘’`«»„"
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])['’](?=[A-Za-z])")
_CONTRACTION = re.compile(r"(?<=[A-Za-z])['’](ll|re|ve|m|d)\b(?=( better| been)?)")
_WHOLE = {"ll": " will", "re": " are", "ve": " have", "m": " am"}
_SPACE = re.compile(r"\s+")
_DOUBLED = re.compile(r"(?:[ ]*[,，、.。!！?？:：;；][ ]*){2,}|[ ]+[,，、.。!！?？:：;；]")
_ASCII_MARK = re.compile(rf"(?<=[{HAN}]) *([,.?!:;]) *(?=[{HAN}]|$)")
_WIDE_MARKS = dict(zip(",.?!:;", "，。？！：；", strict=True))
_STRENGTH = ("?", "？", "!", "！", ".", "。", ":", "：", ";", "；", ",", "，", "、")


def confine(text: MappedText, rules: TextRules, account: Account) -> MappedText:
    """`text` in the characters that `rules.alphabet` allows, white space and commas tidied.

    Letters of other scripts stay: `languages.unspoken` says what they are.
    """
    chattts = rules.alphabet == "chattts"
    if chattts:
        text = text.rewrite(_CONTRACTION, _whole).rewrite(_APOSTROPHE, lambda _: "")
    table = _CHATTTS if chattts else _WORDS
    wrong = _CHATTTS_WRONG if chattts else _WORDS_WRONG
    if rules.reads_numbers:
        wrong = _NUMBERS_WRONG
    before = text

    def change(match: re.Match[str]) -> Replacement:
        return _allowed(before, match.start(), table, account)

    text = text.rewrite(wrong, change)
    if rules.homophones:
        text = _replaced(text, rules)
    return _tidy(text).strip()


def _whole(match: re.Match[str]) -> str:
    """A contraction in full: without its apostrophe "we'll" would be the word "well"."""
    return _WHOLE.get(match[1]) or (" had" if match[2] else " would")


def _allowed(text: MappedText, place: int, table: dict[str, str], account: Account) -> str | None:
    """What stands for the character at `place` that the voice does not know; None: itself."""
    char = text.text[place]
    if char in table:
        return table[char]
    if char in _QUOTES or char.isspace():
        return " " if char.isspace() else ""
    if char.isalpha():
        plain = unicodedata.normalize("NFKD", char)
        latin = "".join(c for c in plain if c.isascii() and c.isalpha()) or _LATIN.get(char, "")
        if latin:
            return latin
        if letter_language(char) != "zh":
            return None
    account.drop(text.starts[place], text.ends[place], "not in the voice's alphabet")
    return ""


_LATIN = {
    "ß": "ss",
    "æ": "ae",
    "Æ": "Ae",
    "œ": "oe",
    "Œ": "Oe",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
    "đ": "d",
    "Đ": "D",
    "ð": "d",
    "Ð": "D",
    "þ": "th",
    "Þ": "Th",
    "ı": "i",
    "ħ": "h",
    "ŋ": "ng",
}


def _replaced(text: MappedText, rules: TextRules) -> MappedText:
    new = "".join(rules.homophones.get(char, char) for char in text.text)
    return MappedText(new, text.starts, text.ends) if len(new) == len(text.text) else text


def _tidy(text: MappedText) -> MappedText:
    """One space where there were several; the strongest of a run of punctuation marks."""

    def strongest(match: re.Match[str]) -> Replacement:
        marks = match[0].replace(" ", "")
        best = min(marks, key=_STRENGTH.index)
        followed = match[0][-1] == " " and best.isascii()
        return best + " " if followed or (len(marks) > 1 and best.isascii()) else best

    text = text.rewrite(_SPACE, lambda match: None if match[0] == " " else " ")
    text = text.rewrite(_ASCII_MARK, lambda match: _WIDE_MARKS[match[1]])
    text = text.rewrite(_DOUBLED, strongest).rewrite(_SPACE, lambda m: None if m[0] == " " else " ")
    start = 0
    while start < len(text.text) and text.text[start] in " ,，、.。:：;；!！?？":
        start += 1
    return text.cut(start, len(text.text))


def is_speakable(text: str) -> bool:
    """Whether `text` has anything to say: a letter or a digit outside its marks."""
    return any(char.isalnum() for char in PLACE.sub("", text))
