"""`MappedText`: text that remembers which stretch of the input each of its characters came from.

Every step of text preparation is a `rewrite` of a `MappedText`; offsets are code points of the
input. Over a text the stretches never run backwards.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

Part = str | tuple[int, int]
"""Of a replacement: new words (str), or a stretch of the matched text that stays (start, end)."""

Replacement = Part | list[Part] | None
"""What a rule makes of a match; None leaves it as it is."""


@dataclass(frozen=True, slots=True)
class MappedText:
    """`text`, whose character `i` stands for the input's `starts[i]:ends[i]`."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, text: str, offset: int = 0) -> Self:
        """The input itself, from code point `offset` on."""
        size = len(text)
        return cls(text, range(offset, offset + size), range(offset + 1, offset + size + 1))

    @classmethod
    def empty(cls) -> Self:
        """No text at all."""
        return cls("", (), ())

    def __len__(self) -> int:
        return len(self.text)

    def cut(self, start: int, end: int) -> "MappedText":
        """The part `text[start:end]`, mapped as before."""
        return MappedText(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def strip(self) -> "MappedText":
        """Without white space at both ends."""
        left = len(self.text) - len(self.text.lstrip())
        return self.cut(left, max(left, len(self.text.rstrip())))

    def join(self, other: "MappedText") -> "MappedText":
        """This text and then `other`, which comes from further on in the input."""
        if not other.text:
            return self
        return MappedText(
            self.text + other.text, [*self.starts, *other.starts], [*self.ends, *other.ends]
        )

    def rewrite(
        self, pattern: re.Pattern[str], change: Callable[[re.Match[str]], Replacement]
    ) -> "MappedText":
        """Every match of `pattern` replaced by what `change` makes of it."""
        if pattern.search(self.text) is None:
            return self
        edits = []
        for match in pattern.finditer(self.text):
            replacement = change(match)
            if replacement is not None:
                edits.append((match.start(), match.end(), replacement))
        return self.edit(edits) if edits else self

    def edit(self, edits: Sequence[tuple[int, int, Replacement]]) -> "MappedText":
        """Apply edits (start, end, replacement) that are in order and do not overlap."""
        texts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []

        def keep(first: int, last: int) -> None:
            texts.append(self.text[first:last])
            starts.extend(self.starts[first:last])
            ends.extend(self.ends[first:last])

        done = 0
        for first, last, replacement in edits:
            keep(done, first)
            parts = replacement if isinstance(replacement, list) else [replacement]
            cursor = first
            for index, part in enumerate(parts):
                if isinstance(part, tuple):
                    keep(*part)
                    cursor = part[1]
                elif part:
                    following = next((p[0] for p in parts[index:] if isinstance(p, tuple)), last)
                    texts.append(part)
                    starts.extend([self.starts[min(cursor, last - 1)]] * len(part))
                    ends.extend([self.ends[max(cursor, following - 1)]] * len(part))
            done = last
        keep(done, len(self.text))
        return MappedText("".join(texts), starts, ends)
