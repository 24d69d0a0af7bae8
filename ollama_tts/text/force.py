"""Where to cut a stretch that is too long and has no boundary: at a comma, else between words."""

import re

from ollama_tts.text.account import Pause

_CLAUSE = re.compile(r"[,;:](?=\s)\s|[，；：、—…。！？]+(?![，；：、—…。！？”’」』》）])")
_SPACE = re.compile(r"\s+")
_WIDE = re.compile(r"[\u2e80-\u2fff\u3005-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]")
_NUMBER = re.compile(r"[\d$€£¥￥]")


def is_wide(char: str) -> bool:
    """Whether `char` is a Chinese, Japanese or Korean character, or their punctuation."""
    return char >= "\u2e80"


def measure(text: str, han_weight: int) -> int:
    """Length of `text` in a voice's units: a wide character counts `han_weight`."""
    if han_weight == 1 or text.isascii():
        return len(text)
    return len(text) + (han_weight - 1) * sum(map(is_wide, text))


def prefix_length(text: str, start: int, end: int, *, limit: int, han_weight: int) -> int:
    """How many characters of `text[start:end]`, from its beginning, stay within `limit`."""
    size = min(end - start, limit + 1)
    if size * han_weight <= limit:
        return size
    left = limit
    for index in range(start, start + size):
        left -= han_weight if is_wide(text[index]) else 1
        if left < 0:
            return index - start
    return size


def forced_cut(window: str) -> tuple[int, Pause]:
    """Where to cut `window`, whose last character is already one too many; 0 where nowhere.

    The last clause in its second half; else between words or Chinese characters, not beside
    a number; else at any clause or white space.
    """
    most = _protected(window)
    size = len(window) - 1
    clauses = [m.end() for m in _CLAUSE.finditer(window) if m.end() <= min(size, most)]
    if clauses and clauses[-1] >= size // 2:
        return clauses[-1], "clause"
    gaps = _gaps(window, min(size, most))
    quiet = [gap for gap in gaps if not _beside_number(window, gap)]
    if quiet and quiet[-1] >= size // 4:
        return quiet[-1], "none"
    if clauses:
        return clauses[-1], "clause"
    return (gaps[-1], "none") if gaps else (0, "none")


def _gaps(window: str, most: int) -> list[int]:
    """Places between words, and beside Chinese characters."""
    gaps = {m.end() for m in _SPACE.finditer(window) if 0 < m.end() <= most}
    for match in _WIDE.finditer(window):
        gaps.update(p for p in (match.start(), match.end()) if 0 < p <= most)
    return sorted(p for p in gaps if not _is_bound(window[p : p + 1]))


def _is_bound(char: str) -> bool:
    """Whether a piece may not begin with `char` (closing punctuation stays with its word)."""
    return char != "" and char in "，。！？；：、,.!?;:”’」』》）)]}%％ \t\n…—"


def _beside_number(window: str, gap: int) -> bool:
    before = window[:gap].rstrip().rpartition(" ")[2][-8:]
    behind = window[gap:].partition(" ")[0][:8]
    return _NUMBER.search(before) is not None or _NUMBER.search(behind) is not None


def _protected(window: str) -> int:
    """Up to where a cut may fall: not inside a link or code that the window only begins."""
    most = len(window)
    opened = window.rfind("[")
    if opened > 0 and ("]" not in window[opened:] or "](" in window[opened:]):
        closed = window.find(")", opened)
        if closed < 0:
            most = opened
    if window.count("`") % 2 and (tick := window.rfind("`")) > 0:
        most = min(most, tick)
    return most
