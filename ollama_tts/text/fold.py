"""Unicode folding: the same text however it was typed, and nothing that nobody can say.

Full-width letters and digits, ligatures and composed characters get their plain form; emoji and
invisible characters are dropped on the account. Punctuation that Chinese text needs stays.
"""

import re
import unicodedata

from ollama_tts.text.account import Account
from ollama_tts.text.mapped import MappedText, Replacement

_PLAIN = re.compile(r"[\n\x20-\x7e\u4e00-\u9fff\ue000-\ue0ff，。！？、：；“”‘’（）《》—…]*")
_ODD = re.compile(
    r"[^\n\x20-\x7e\u4e00-\u9fff\ue000-\ue0ff，。！？、：；“”‘’（）《》—…]+[\u0300-\u036f\u20e3\ufe0e\ufe0f]*"
    r"|[\x21-\x7e][\ufe0e\ufe0f]?[\u0300-\u036f\u20d0-\u20f0\u3099\u309a]+"
)
_PIECE = re.compile(
    r"[\U0001f1e6-\U0001f1ff]{2}"  # a flag
    r"|[#*0-9]\ufe0f?\u20e3"  # a key
    r"|.[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0653-\u0655\u1ab0-\u1aff\u1dc0-\u1dff"
    r"\u20d0-\u20df\u20e1\u20e4-\u20f0\u3099\u309a]*",
    re.DOTALL,
)
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u231a-\u23ff\u25a0-\u25ff\u3030\u303d"
    "\u3297\u3299\u200d\ufe0f\U000e0020-\U000e007f©®™\u2122\u2139\u24c2]"
)
_SPACES = frozenset("\t\x0b\x0c\r\x85\u00a0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(code) for code in range(0x2000, 0x200B)
}
_STAYS = frozenset(
    "，。！？、：；（）【】『』「」《》〈〉—–…·“”‘’°²³¹½¼¾℃℉№×÷±≈≠≤≥√∞→←↑↓€£¥₩₽₹¢µ‰′″~∼〜"
)
_FIXED = {
    "：": "：",
    "\u2010": "-",
    "\u2011": "-",
    "\u2012": "-",
    "\u2212": "-",
    "\u2015": "—",
    "\u2014": "—",
    "〜": "~",
    "∼": "~",
    "～": "~",
    "‚": ",",
    "„": "“",
    "‟": "“",
    "‛": "‘",
    "｡": "。",
    "､": "、",
    "｢": "「",
    "｣": "」",
    "․": ".",
    "‧": "·",
    "・": "·",
    "•": "•",
    "μ": "µ",
    "´": "'",
    "ʼ": "'",
    "ʻ": "'",
    "⁄": "/",
    "∕": "/",
    "∶": ":",
    "㎡": "平方米",
    "™": "",
    "®": "",
    "©": "",
}
_WIDE_IN_NUMBER = re.compile(r"(?<=[0-9])[，：．](?=[0-9])")
_NARROW = {"，": ",", "：": ":", "．": "."}


def fold(text: MappedText, account: Account) -> MappedText:
    """`text` in plain characters; what has no sound is dropped on `account`."""
    if _PLAIN.fullmatch(text.text):
        return text

    edits: list[tuple[int, int, Replacement]] = []
    for match in _ODD.finditer(text.text):
        for piece in _PIECE.finditer(text.text, match.start(), match.end()):
            new, reason = _folded(piece[0])
            if reason:
                account.drop(text.starts[piece.start()], text.ends[piece.end() - 1], reason)
            if new != piece[0]:
                edits.append((piece.start(), piece.end(), new))
    folded = text.edit(edits) if edits else text
    return folded.rewrite(_WIDE_IN_NUMBER, lambda match: _NARROW[match[0]])


def _folded(piece: str) -> tuple[str, str]:
    """The plain form of one character with its combining marks, and why it is dropped if so."""
    char = piece[0]
    if char in _SPACES:
        return " ", ""
    if piece in _FIXED:
        return _FIXED[piece], "" if _FIXED[piece] else "symbol"
    if char in _STAYS:
        return char, ""
    if _EMOJI.search(piece):
        return "", "emoji"
    category = unicodedata.category(char)
    if category in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return "", "not a character" if category in ("Cs", "Co", "Cn") else "control character"
    plain = unicodedata.normalize("NFKC", piece)
    if category.startswith("M"):
        plain = ""
    plain = "".join(c for c in plain if not _is_stray(c)).replace("\u2044", "/")
    return plain, "" if plain else "combining mark"


def _is_stray(char: str) -> bool:
    return char != " " and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
