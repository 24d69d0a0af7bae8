"""Written text to words: each run of a text by the rules of its language."""

import re

from ollama_tts.text.account import Account
from ollama_tts.text.chinese import chinese
from ollama_tts.text.english import english
from ollama_tts.text.languages import HAN, WORD
from ollama_tts.text.mapped import MappedText

_PLAIN = re.compile(
    r"(?!.*\b(?:[IVXLCDM]{2,}|[VXLCDM]|(?<=[a-z] )I|[A-Z]\.|Mr|Mrs|Ms|Prof|Dr|St|No)\b)"
    r"(?!.*\b(?:etc|inc|ltd|corp|jr|sr|co|st|ave|blvd|rd|dr|bros|dept|approx|vs|est|max|avg)\.)"
    r"[A-Za-z ,;:!?'\"\n-]*\.?\s*",
    re.DOTALL | re.IGNORECASE,
)
_PLAIN_CHINESE = re.compile(rf"[{HAN}，。！？、；：“”‘’（）《》\s]*")
_WIDE_RUN = re.compile(rf"[{HAN}，。！？、；：“”‘’（）《》「」『』【】]+")
_LATIN = re.compile("[A-Za-z]")
_ONE_HAN = re.compile(f"[{HAN}]")


def normalize_words(text: MappedText, language: str, account: Account) -> MappedText:
    """`text` with numbers, symbols and abbreviations written out.

    Chinese text keeps to Chinese numbers; a run of at least three English words inside it, two
    of them in small letters, is read as English.
    """
    if _PLAIN.fullmatch(text.text) or _PLAIN_CHINESE.fullmatch(text.text):
        return text
    out = MappedText.empty()
    for start, end, code in runs(text.text, language):
        part = text.cut(start, end)
        out = out.join(chinese(part, account) if code == "zh" else english(part, account))
    return out


def runs(text: str, language: str) -> list[tuple[int, int, str]]:
    """Stretches of `text` (start, end, "zh" or "en") to read by the rules of one language."""
    main = "zh" if language == "zh" else "en"
    if not _ONE_HAN.search(text):
        return [(0, len(text), main)]
    out: list[tuple[int, int, str]] = []
    place = 0
    for match in _WIDE_RUN.finditer(text):
        if place < match.start():
            out.append((place, match.start(), _between(text[place : match.start()], main)))
        code = "zh" if _ONE_HAN.search(match[0]) else (out[-1][2] if out else main)
        out.append((match.start(), match.end(), code))
        place = match.end()
    if place < len(text):
        out.append((place, len(text), _between(text[place:], main)))
    return _merged(out)


def _between(text: str, main: str) -> str:
    """The language of a stretch without Chinese characters."""
    words = WORD.findall(text)
    if not words and not _LATIN.search(text):
        return "zh"
    if main == "en":
        return "en"
    small = sum(word.islower() for word in words)
    return "en" if len(words) >= 3 and small >= 2 else "zh"


def _merged(stretches: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    out: list[tuple[int, int, str]] = []
    for start, end, code in stretches:
        begin = out.pop()[0] if out and out[-1][2] == code else start
        out.append((begin, end, code))
    return out
