"""Prepared text cut to a voice's limit: at clauses where there are any, else between words."""

import re

from ollama_tts.text.account import Pause
from ollama_tts.text.force import is_wide
from ollama_tts.text.mapped import MappedText
from ollama_tts.text.marks import PLACE, ControlMark
from ollama_tts.text.rules import TextRules

_CLAUSE = re.compile(r"[,;:.!?] |[，；：、。！？]")
_GAP = re.compile(r" ")


def measure(text: str, rules: TextRules) -> int:
    """Length of prepared text in the voice's units, control marks written out."""
    return sum(_costs(text, rules))


def _costs(text: str, rules: TextRules) -> list[int]:
    if text.isascii():
        return [1] * len(text)
    return [_cost(char, rules.han_weight) for char in text]


def _cost(char: str, han_weight: int) -> int:
    if PLACE.match(char):
        return len(ControlMark.at(char).written)
    return han_weight if is_wide(char) else 1


def pieces(text: MappedText, rules: TextRules) -> list[tuple[MappedText, Pause]]:
    """`text` in pieces of at most `rules.max_chars`, about equally long; pause after each."""
    if len(text.text) * rules.han_weight <= rules.max_chars and not PLACE.search(text.text):
        return [(text, "sentence")]
    costs = _costs(text.text, rules)
    left = sum(costs)
    out: list[tuple[MappedText, Pause]] = []
    place = 0
    while left > rules.max_chars:
        count = -(-left // rules.max_chars)
        wanted = left / count
        cut, pause = _cut(text, place, costs, (wanted, rules.max_chars))
        out.append((text.cut(place, cut), pause))
        left -= sum(costs[place:cut])
        place = cut
    out.append((text.cut(place, len(text.text)), "sentence"))
    return [(piece, pause) for piece, pause in out if piece.text.strip()]


def _cut(
    text: MappedText, start: int, costs: list[int], sizes: tuple[float, int]
) -> tuple[int, Pause]:
    """Where to end the piece that begins at `start`: close to the wanted size, never over."""
    wanted, most = sizes
    reach: dict[int, int] = {}
    total = 0
    end = start
    while end < len(text.text) and total + costs[end] <= most:
        total += costs[end]
        end += 1
        reach[end] = total
    if end == start:
        return start + 1, "none"

    def far(place: int) -> float:
        return abs(reach[place] - wanted)

    clauses = [m.end() for m in _CLAUSE.finditer(text.text, start, end)]
    clauses = [place for place in clauses if reach[place] * 3 >= wanted]
    if clauses:
        return min(clauses, key=far), "clause"
    gaps = [place for place in range(start + 1, end + 1) if _is_gap(text, place)]
    whole = [place for place in gaps if text.starts[place - 1] != text.starts[place]] or gaps
    return (min(whole, key=far), "none") if whole else (end, "none")


def _is_gap(text: MappedText, place: int) -> bool:
    """Whether a piece may end before the character at `place`."""
    if place >= len(text.text):
        return False
    before, behind = text.text[place - 1], text.text[place]
    if behind in " ，。、！？：；,.!?:;":
        return False
    return before == " " or is_wide(before) or is_wide(behind)
