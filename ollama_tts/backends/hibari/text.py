"""What hibari can say: English. Text is brought into its letters, or refused; never lost.

The package itself drops every letter that it does not know without a word, and follows
`[text](/phonemes/)` marks; neither may happen to a caller's text.
"""

import re
import unicodedata

from ollama_tts.errors import UnspeakableText

LONGEST_NUMBER = 24  # digits in a row that are read as one number; the package fails above 66

_DIGITS = re.compile(rf"\d{{{LONGEST_NUMBER + 1},}}")
_LINK = re.compile(r"\](?=\()")
_GREEK_WORD = re.compile(r"[\u0370-\u03ff]{2,}")
_LETTERS = {
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O",
    "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "th", "Ð": "Th", "þ": "th", "Þ": "Th",
    "ı": "i", "ŋ": "ng", "Ŋ": "Ng", "ə": "e", "Ə": "E", "ħ": "h", "Ħ": "H",
    "ʼ": "'",
}  # fmt: skip
_SOUNDS_LIKE = {
    "ALPHA": "a", "BETA": "b", "CHI": "kh", "ESH": "sh", "EZH": "zh", "GAMMA": "g", "IOTA": "i",
    "OMEGA": "o", "PHI": "f", "SCHWA": "e", "UPSILON": "u",
}  # fmt: skip
_SYMBOLS = {
    "№": " number ", "∞": " infinity ", "√": " square root of ", "∑": " sum ", "‰": " per mille ",
    "₿": " bitcoin ", "∂": " partial ", "∫": " integral ", "≠": " does not equal ",
    "\u00ad": "", "\u200b": "", "\ufeff": "",
}  # fmt: skip
_OTHERS = (
    (re.compile(r"[\u3040-\u30ff]"), "the voice kokoro speaks Japanese"),
    (re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[\U00020000-\U0003ffff]"),
     "the voices chattts and kokoro speak Chinese"),
)  # fmt: skip


def speakable(text: str) -> str:
    """`text` in letters, digits and signs that the package reads aloud.

    Raises:
        UnspeakableText: It holds letters of another script; the message quotes them and names
            voices that can say them.
    """
    composed = unicodedata.normalize("NFC", text)
    if word := _GREEK_WORD.search(composed):
        raise refusal(word[0])
    plain = "".join(_plain(char, composed) for char in composed)
    spelled = _DIGITS.sub(lambda run: " ".join(run[0]), plain)
    return _LINK.sub("] ", spelled)


def refusal(text: str) -> UnspeakableText:
    """The error for `text` that hibari cannot say, with the voices that can."""
    shown = text if len(text) <= 40 else text[:40] + "…"
    other = next((hint for script, hint in _OTHERS if script.search(text)), "")
    also = f"; {other}" if other else ""
    return UnspeakableText(f"hibari speaks English and cannot say {shown!r}{also}")


def _plain(char: str, text: str) -> str:
    if char.isascii():
        return char
    if char in _SYMBOLS:
        return _SYMBOLS[char]
    category = unicodedata.category(char)
    if category[0] == "L":
        return _letter(char, text)
    if category == "Nd":
        return str(unicodedata.digit(char))
    if category in {"Nl", "So"}:
        return _compatible(char)
    return "" if category[0] == "M" else char


def _letter(char: str, text: str) -> str:
    name = unicodedata.name(char, "")
    if name.startswith("GREEK") and " WITH " not in name:
        return f" {name.rsplit(' ', 1)[-1].lower()} "
    if char <= "ÿ" and name.startswith("LATIN"):
        return char
    folded = _LETTERS.get(char) or "".join(
        part for part in unicodedata.normalize("NFKD", char) if not unicodedata.combining(part)
    )
    if folded.isascii():
        return folded
    return _relative(char, name, text)


def _relative(char: str, name: str, text: str) -> str:
    """For phonetic letters the letter they come from; nothing for stress marks and the like."""
    if unicodedata.category(char) == "Lm":
        return ""
    last = name.rsplit(" ", 1)[-1]
    if name.startswith("LATIN") and (len(last) == 1 or last in _SOUNDS_LIKE):
        return _SOUNDS_LIKE.get(last, last.lower())
    raise refusal("".join(c for c in text if unicodedata.category(c)[0] == "L" and c > "ʯ"))


def _compatible(char: str) -> str:
    folded = unicodedata.normalize("NFKC", char)
    return folded if folded.isascii() else char
