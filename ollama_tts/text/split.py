"""`Splitter`: raw text comes in as it is written, stretches to be spoken one by one go out.

A cut never depends on how the text arrived: each one is decided by the text before it and a
bounded stretch after it, and the splitter waits until that stretch is there. Every character
is in exactly one `Segment`.
"""

import re
from dataclasses import dataclass
from typing import Literal

from ollama_tts.text import atoms, boundary
from ollama_tts.text.account import Pause
from ollama_tts.text.force import forced_cut, prefix_length

Kind = Literal["text", "code", "fence"]

_STOP = re.compile(r"[.!?。！？｡…\n\[`“”「」『』《》（）]")
_STOP_LOW = re.compile(r"[.!?。！？｡…\n\[`“”‘’「」『』《》（）~,;:，；：、—]")
_SPACE = " \t\r\f\v\u00a0\u2028\u2029\u3000"
_OPEN = "“「『《（"
_CLOSE = "”」』》）"
_LOOK_AFTER_LINE = 200
_SOFT_LINE = 50
_EARLY_WEIGHT = 12
_CODE_MOST = 4096


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of input: `text` begins at code point `start`, `pause` tells what ended it.

    `kind` "code" is the inside of a fenced block of code, "fence" a line that opens or closes
    one; neither is spoken.
    """

    text: str
    start: int
    pause: Pause
    kind: Kind = "text"


class Splitter:
    """Cuts text into segments as it comes.

    Args:
        limit: Longest stretch in characters; a Chinese character counts as `han_weight`.
        han_weight: See `limit`.
        early: The first segment may end at a clause, so that sound starts sooner.
        marks: Control marks behind a sentence belong to it: "That was funny. [laugh]".
    """

    def __init__(
        self, limit: int, *, han_weight: int = 1, early: bool = False, marks: bool = False
    ) -> None:
        self._limit = limit
        self._han_weight = han_weight
        self._early = early
        self._low = early
        self._marks = marks and not early
        self._text = ""
        self._base = 0
        self._start = 0
        self._at = 0
        self._line_start = True
        self._quotes = 0
        self._fence = ""
        self._final = False
        self._out: list[Segment] = []

    def feed(self, text: str) -> list[Segment]:
        """Take more text; give the segments that are complete now."""
        self._text += text
        return self._run()

    def finish(self) -> list[Segment]:
        """No more text comes: give what is left."""
        self._final = True
        out = self._run()
        if self._start < len(self._text):
            kind: Kind = "code" if self._fence else "text"
            out.append(
                Segment(self._text[self._start :], self._base + self._start, "sentence", kind)
            )
        self._text = ""
        self._start = self._at = 0
        return out

    def _run(self) -> list[Segment]:
        self._out = []
        while self._step():
            pass
        out = self._out
        self._base += self._start
        self._text = self._text[self._start :]
        self._at -= self._start
        self._start = 0
        return out

    def _step(self) -> bool:
        """Decide one more place of the text; False where more text is needed first."""
        if self._line_start:
            return self._open_line()
        if self._fence:
            return self._code_line()
        pattern = _STOP_LOW if self._early else _STOP
        # Past the limit a cut is due anyway: looking no further keeps the work linear.
        most = min(len(self._text), max(self._at, self._start + self._limit + 1))
        match = pattern.search(self._text, self._at, most)
        place = match.start() if match else most
        if self._force(place):
            return True
        if match is None:
            self._at = place
            return place < len(self._text)
        return self._decide(place, match[0])

    def _open_line(self) -> bool:
        """At the first character of a line: see whether it opens or closes a fence."""
        mark = atoms.fence_mark(self._text, self._at, final=self._final)
        if mark is None:
            return False
        self._line_start = False
        if not mark:
            return self._at < len(self._text)
        end = self._text.find("\n", self._at)
        if end < 0:
            if not self._final:
                self._line_start = True
                return False
            end = len(self._text) - 1
        info = self._text[self._at : end + 1].strip().strip("`~").strip().lower()
        if not self._fence:
            self._cut(self._at, "line")
            self._cut(end + 1, "line", "fence")
            self._fence = "" if info in atoms.READ_FENCES else mark
        elif mark.startswith(self._fence) and not info:
            self._cut(self._at, "line", "code")
            self._cut(end + 1, "paragraph", "fence")
            self._fence = ""
        self._at = end + 1
        self._line_start = True
        return self._at < len(self._text)

    def _code_line(self) -> bool:
        """Inside a fence: go to the next line, giving long code out in pieces."""
        end = self._text.find("\n", self._at, self._start + _CODE_MOST)
        if end < 0:
            self._at = min(len(self._text), self._start + _CODE_MOST)
            if self._at < self._start + _CODE_MOST:
                return False
        else:
            self._at = end + 1
            self._line_start = True
        self._cut(self._at, "line", "code")
        return self._at < len(self._text)

    def _decide(self, place: int, char: str) -> bool:
        if char == "\n":
            return self._line_end(place)
        if char in _OPEN or char in _CLOSE:
            self._quotes = max(0, self._quotes + (1 if char in _OPEN else -1))
            return self._pass(place + 1)
        if char in "[`":
            return self._pass(atoms.bracket_end(self._text, place, final=self._final))
        return self._stop(place)

    def _stop(self, place: int) -> bool:
        """At a stop: cut behind the sentence, or the first clause, that ends there."""
        end = boundary.sentence_end(self._text, place, self._start, self._context())
        if end and self._marks:
            end = atoms.marks_end(self._text, end, final=self._final)
        if end is None:
            return False
        if end > 0:
            closed = sum(char in _CLOSE for char in self._text[place:end])
            self._quotes = max(0, self._quotes - closed)
            self._cut(end, "sentence")
            return self._pass(end)
        if self._early and (cut := boundary.clause_end(self._text, place, self._context())) != 0:
            return self._early_cut(cut, place)
        return self._pass(boundary.after(self._text, place, self._context()))

    def _context(self) -> boundary.Context:
        return boundary.Context(final=self._final, quoted=self._quotes > 0, low=self._low)

    def _pass(self, place: int | None) -> bool:
        """Go on at `place`; None means that more text must come first."""
        if place is None:
            return False
        self._at = place
        return place < len(self._text)

    def _early_cut(self, cut: int | None, place: int) -> bool:
        if cut is None:
            return False
        if boundary.weight(self._text[self._start : cut]) >= _EARLY_WEIGHT:
            self._cut(cut, "clause")
        return self._pass(max(cut, place + 1))

    def _line_end(self, place: int) -> bool:
        """At a line break: end of utterance, unless a long line just goes on below."""
        following = place + 1
        while following < len(self._text) and self._text[following] in _SPACE:
            following += 1
        seen = following < len(self._text) or following - place > _LOOK_AFTER_LINE
        if not seen and not self._final:
            return False
        char = self._text[following : following + 1]
        line = self._text[self._text.rfind("\n", 0, place) + 1 : place].rstrip()
        if char.islower() and self._line_length(place) >= _SOFT_LINE and line[-1:].isalnum():
            self._at = place + 1
            self._line_start = True
            return True
        pause: Pause = "paragraph" if char in ("\n", "") else "line"
        self._quotes = 0
        if self._text[self._start : place].strip():
            self._cut(place + 1, pause)
        self._at = place + 1
        self._line_start = True
        return self._at < len(self._text)

    def _line_length(self, place: int) -> int:
        """Length of the line that ends at `place`, as far as this utterance reaches back."""
        return place - max(self._start, self._text.rfind("\n", 0, place) + 1)

    def _force(self, place: int) -> bool:
        """Cut a stretch that has grown over the limit without any boundary before `place`."""
        size = prefix_length(
            self._text, self._start, place, limit=self._limit, han_weight=self._han_weight
        )
        if self._start + size >= place:
            return False
        cut, pause = forced_cut(self._text[self._start : self._start + size + 1])
        # A link or an address longer than the limit stays whole: what is spoken of it is short.
        end = self._start + cut if cut else max(self._at, self._start + size)
        self._cut(end, pause)
        self._at = max(self._at, self._start)
        return True

    def _cut(self, end: int, pause: Pause, kind: Kind = "text") -> None:
        if end <= self._start:
            return
        text = self._text[self._start : end]
        self._out.append(Segment(text, self._base + self._start, pause, kind))
        self._start = end
        if kind == "text" and any(char.isalnum() for char in text):
            self._early = False
