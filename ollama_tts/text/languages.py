"""Which language a stretch of text is in, judged by its letters, and what a voice can't speak."""

import re
import unicodedata
from collections.abc import Iterable

from ollama_tts.text.account import PreparedUtterance
from ollama_tts.text.rules import TextRules

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f〇々"
"""Chinese characters, for use inside a pattern's brackets."""

_KANA = "\u3040-\u30ff\u31f0-\u31ff"
_SCRIPTS = {
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "CYRILLIC": "ru",
    "GREEK": "el",
    "ARABIC": "ar",
    "HEBREW": "he",
    "THAI": "th",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "TAMIL": "ta",
    "TELUGU": "te",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "ETHIOPIC": "am",
    "KHMER": "km",
    "LAO": "lo",
    "MYANMAR": "my",
    "TIBETAN": "bo",
    "BOPOMOFO": "zh",
    "CJK": "zh",
    "LATIN": "en",
    "FULLWIDTH": "en",
}
_NAMES = {
    "en": "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian (Cyrillic)",
    "el": "Greek",
    "ar": "Arabic",
    "he": "Hebrew",
    "th": "Thai",
    "hi": "Hindi",
    "und": "an unknown script",
}
WORD = re.compile(r"(?<![\w./:@-])[A-Za-z][A-Za-z'’]*(?![\w/:@-]|\.\w)", re.ASCII)
"""A Latin word that is not part of an address."""

_LATIN = re.compile("[A-Za-z]")
_ONE_HAN = re.compile(f"[{HAN}]")
_ONE_KANA = re.compile(f"[{_KANA}]")
_FOREIGN = re.compile(rf"[^\W\d_a-zA-Z{HAN}]")
_ONE_GREEK = re.compile("(?<![\u0370-\u03ff])[\u0370-\u03ff](?![\u0370-\u03ff])")
"""A Greek letter by itself is a sign of mathematics."""

_PLAIN = re.compile(r"[\x00-\x7f]*")


def name(code: str) -> str:
    """The language's name in English, for messages."""
    return _NAMES.get(code, code)


def letter_language(letter: str) -> str:
    """The language a single letter points to; "und" where its script is not in the table."""
    script = unicodedata.name(letter, "UNKNOWN").split(" ")[0].split("-")[0]
    return _SCRIPTS.get(script, "und")


def main_language(text: str) -> str | None:
    """The language most of `text` is in, or None where it has no letters.

    A Chinese character weighs as much as an English word. Any kana makes Han Japanese.
    """
    if _PLAIN.fullmatch(text):
        return "en" if _LATIN.search(text) else None
    counts = {"zh": len(_ONE_HAN.findall(text)), "en": len(WORD.findall(text))}
    if kana := len(_ONE_KANA.findall(text)):
        counts["ja"] = counts.pop("zh") + kana
    for letter in _FOREIGN.findall(_ONE_GREEK.sub("", text)):
        code = letter_language(letter)
        if code not in ("en", "ja", "zh"):
            counts[code] = counts.get(code, 0) + 1
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] else "en" if _LATIN.search(text) else None


def unspoken(utterances: Iterable[PreparedUtterance], rules: TextRules) -> str | None:
    """Why this voice can't speak these utterances, or None where it can speak all of them.

    The message names the first run of letters that is in none of the voice's languages, that
    run's language, and the languages the voice has.
    """
    if rules.alphabet == "any":
        return None
    for utterance in utterances:
        run = _unspoken_run(utterance.text, rules.languages)
        if run is not None:
            text, code = run
            spoken = ", ".join(name(language) for language in rules.languages)
            return f'this voice can\'t speak "{text}" ({name(code)}); it speaks {spoken}'
    return None


def _unspoken_run(text: str, languages: tuple[str, ...]) -> tuple[str, str] | None:
    """The first run of letters outside `languages` in `text`, with its language."""
    if text.isascii():
        return None if "en" in languages else _latin_run(text)
    run = ""
    code = ""
    for char in text:
        found = letter_language(char) if char.isalpha() else ""
        if found == "zh" and "ja" in languages:
            found = "ja"
        missing = bool(found) and found not in languages and found != "en"
        if run and (not missing or found != code):
            break
        if missing:
            run, code = run + char, found
    return (run[:40], code) if run else None


def _latin_run(text: str) -> tuple[str, str] | None:
    match = re.search("[A-Za-z]+", text)
    return (match[0], "en") if match else None
