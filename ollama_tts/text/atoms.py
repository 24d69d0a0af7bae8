"""Stretches of raw text that are never cut: links, inline code, the marks of fenced code.

Each function looks at a bounded stretch only, and answers None where more text must come first.
"""

import re

from ollama_tts.text.marks import MARK

READ_FENCES = frozenset({"text", "txt", "plain", "plaintext", "markdown", "md"})
"""Fenced blocks of these kinds are text and are read."""

_TEXT_MOST = 300
_ADDRESS_MOST = 2000
_ADDRESS_DEPTH = 4  # open brackets inside an address; more is no address
_TEXT_END = re.compile(r"[\[\]\n]")
_ADDRESS_END = re.compile(r"[()\n]")
_CODE_END = re.compile(r"[`\n]")
_MAYBE_MARK = re.compile(r"(?:\[\w*)?\Z")
_MARK_MOST = 16
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_MAYBE_FENCE = re.compile(r" {0,3}(?:`{0,2}|~{0,2}|`{3,}|~{3,})")


def fence_mark(text: str, at: int, *, final: bool) -> str | None:
    """The fence (``` or longer, or ~~~) that the line at `at` starts with; "" where none."""
    if not final and _MAYBE_FENCE.fullmatch(text, at):
        return None
    match = _FENCE.match(text, at)
    return match[1] if match else ""


def bracket_end(text: str, at: int, *, final: bool) -> int | None:
    """Where scanning goes on after the "[" or "`" at `at`.

    Behind a whole link or a whole stretch of inline code; else right after the character.
    """
    found = _code_end(text, at) if text[at] == "`" else _link_end(text, at)
    if found == len(text) + 1:
        return at + 1 if final else None
    return found


def marks_end(text: str, at: int, *, final: bool) -> int | None:
    """Behind the control marks that follow `at` on its line; `at` where none does."""
    end = at
    while end - at < _TEXT_MOST:
        place = end
        while place - end < _TEXT_MOST and text[place : place + 1] in (" ", "\t"):
            place += 1
        match = MARK.match(text, place)
        if match is None:
            unknown = len(text) - place < _MARK_MOST and _MAYBE_MARK.match(text, place) is not None
            return None if unknown and not final else end
        end = match.end()
    return end


def _code_end(text: str, at: int) -> int:
    """End of inline code at `at`, `at` + 1 where it is none, len + 1 where that is unknown."""
    match = _CODE_END.search(text, at + 1, at + 1 + _TEXT_MOST)
    if match is None:
        return len(text) + 1 if len(text) - at <= _TEXT_MOST else at + 1
    return match.end() if match[0] == "`" else at + 1


def _link_end(text: str, at: int) -> int:
    """As `_code_end`, for `[text](address)`."""
    unknown = len(text) + 1
    close = _TEXT_END.search(text, at + 1, at + 1 + _TEXT_MOST)
    if close is None:
        return unknown if len(text) - at <= _TEXT_MOST else at + 1
    if close[0] != "]":
        return at + 1
    if close.end() == len(text):
        return unknown
    if text[close.end()] != "(":
        return at + 1
    end = _address_end(text, close.end() + 1)
    return at + 1 if end == 0 else end


def _address_end(text: str, at: int) -> int:
    """Behind the ")" that closes an address begun at `at`; 0 where none does, len + 1 unknown."""
    depth = 1
    place = at
    while match := _ADDRESS_END.search(text, place, at + _ADDRESS_MOST):
        if match[0] == "\n":
            return 0
        depth += 1 if match[0] == "(" else -1
        place = match.end()
        if depth == 0:
            return place
        if depth > _ADDRESS_DEPTH:
            return 0
    return len(text) + 1 if len(text) - at < _ADDRESS_MOST else 0
