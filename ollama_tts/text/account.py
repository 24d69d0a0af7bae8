"""Values that text preparation gives: utterances, and the account of every character.

Offsets are code points of the input text, `start` inclusive, `end` exclusive.
"""

from dataclasses import dataclass
from typing import Literal

Pause = Literal["none", "clause", "sentence", "line", "paragraph"]


@dataclass(frozen=True, slots=True)
class PreparedUtterance:
    """One utterance as it is handed to the acoustic model.

    `text` is what is spoken (numbers written out; control marks, if the voice knows them,
    stand in it as `[uv_break]`); `source` is the stretch of input it came from,
    `input[start:end]`. `language` is "en", "zh" or "ja". `controls` are the marks in order,
    without brackets. `pause` tells what kind of boundary follows.
    """

    text: str
    source: str
    language: str
    controls: tuple[str, ...]
    start: int
    end: int
    pause: Pause = "sentence"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A stretch of the input that is not spoken, and why ("emoji", "markdown", "url scheme" …)."""

    start: int
    end: int
    text: str
    reason: str


class Account:
    """Collects what is dropped while text is prepared."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, str]] = []

    def drop(self, start: int, end: int, reason: str) -> None:
        """The input's code points `start:end` are not spoken, for `reason`."""
        if start < end:
            self._entries.append((start, end, reason))

    def entries(self, start: int, text: str) -> list[Dropped]:
        """What was dropped of `text`, which begins at `start`: in order, none overlapping."""
        out: list[Dropped] = []
        place = start
        for first, last, reason in sorted(self._entries):
            begin, end = max(first, place), min(last, start + len(text))
            if begin >= end:
                continue
            if out and out[-1].end == begin and out[-1].reason == reason:
                begin = out.pop().start
            out.append(Dropped(begin, end, text[begin - start : end - start], reason))
            place = end
        return out
