"""Mandarin text → the phonemes that Kokoro was trained on.

Words by jieba, readings by pypinyin, and the tables below from pinyin to IPA (phonology: Duanmu,
The Phonology of Standard Chinese, 2007; Lin, The Sounds of Chinese, 2007). Kokoro writes tones as
arrows after the vowel: → first, ↗ second, ↓ third, ↘ fourth, nothing for the neutral one.
"""

import re
from collections.abc import Callable

TONES = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}

INITIALS = {
    "": "", "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l",
    "g": "k", "k": "kʰ", "h": "x", "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "zh": "ꭧ", "ch": "ꭧʰ",
    "sh": "ʂ", "r": "ɻ", "z": "ʦ", "c": "ʦʰ", "s": "s",
}  # fmt: skip

# "0" marks where the tone is written.
FINALS = {
    "a": "a0", "ai": "ai0", "an": "a0n", "ang": "a0ŋ", "ao": "au0",
    "e": "ɤ0", "ei": "ei0", "en": "ə0n", "eng": "ə0ŋ", "er": "ɚ0", "ê": "ɛ0",
    "i": "i0", "ia": "ja0", "ian": "jɛ0n", "iang": "ja0ŋ", "iao": "jau0", "ie": "je0",
    "in": "i0n", "ing": "i0ŋ", "io": "jɔ0", "iong": "jʊ0ŋ", "iou": "jou0",
    "o": "wo0", "ong": "ʊ0ŋ", "ou": "ou0",
    "u": "u0", "ua": "wa0", "uai": "wai0", "uan": "wa0n", "uang": "wa0ŋ", "uei": "wei0",
    "uen": "wə0n", "ueng": "wə0ŋ", "uo": "wo0",
    "ü": "y0", "üan": "ɥɛ0n", "üe": "ɥe0", "ün": "y0n",
    "m": "m0", "n": "n0", "ng": "ŋ0",
}  # fmt: skip

# The "i" of zi, ci, si and of zhi, chi, shi, ri is a vowel of its own.
APICAL_INITIALS = frozenset({"z", "c", "s", "zh", "ch", "sh", "r"})
APICAL = "ɨ0"

PUNCTUATION = str.maketrans({
    "、": ", ", "，": ", ", "。": ". ", "．": ". ", "！": "! ", "：": ": ", "；": "; ", "？": "? ",
    "《": " “", "》": "” ", "「": " “", "」": "” ", "【": " “", "】": "” ", "（": " (", "）": ") ",
})  # fmt: skip

_RUNS = re.compile(r"([\u4e00-\u9fff\u3400-\u4dbf]+)|([^\u4e00-\u9fff\u3400-\u4dbf]+)")
_WORDS = re.compile(r"[A-Za-z][A-Za-z' -]*")


def syllable(initial: str, final: str) -> str:
    """The phonemes of one syllable: strict pinyin initial, and final with its tone digit.

    Raises:
        KeyError: No such syllable in Mandarin.
    """
    if not final:
        return INITIALS[initial]  # 呣, 嗯: a consonant alone
    tone = final[-1] if final[-1:] in TONES else "5"
    vowel = final.removesuffix(tone)
    apical = vowel == "i" and initial in APICAL_INITIALS
    sound = APICAL if apical else FINALS[vowel]
    if not initial and vowel == "o":
        sound = "ɔ0"  # the interjection 哦, not the o of bo, po, mo
    return INITIALS[initial] + sound.replace("0", TONES[tone])


def phonemize(text: str, english: Callable[[str], str]) -> str:
    """Prepared text as phonemes; Latin words go through `english`, punctuation is kept."""
    parts = []
    for han, other in _RUNS.findall(text):
        parts.append(_han(han) if han else _other(other, english))
    return " ".join("".join(parts).split())


def _han(run: str) -> str:
    import jieba

    jieba.setLogLevel(60)
    return " ".join(_word(word) for word in jieba.cut(run))


def _word(word: str) -> str:
    from pypinyin import Style, lazy_pinyin

    initials = lazy_pinyin(word, style=Style.INITIALS, strict=True)
    finals = lazy_pinyin(
        word, style=Style.FINALS_TONE3, strict=True, neutral_tone_with_five=True, v_to_u=True
    )
    pairs = zip(initials, finals, strict=True)
    return "".join(syllable(initial, final) for initial, final in pairs)


def _other(run: str, english: Callable[[str], str]) -> str:
    folded = run.translate(PUNCTUATION)
    return _WORDS.sub(lambda match: f" {english(match[0].strip())} ", folded)
