"""Control marks: `[laugh]`, `[uv_break]`, `[oral_3]` … parsed once into their own type.

Inside text preparation a mark is one private-use character, so that no rule for words can touch
it. Private-use characters of the input never get that far: folding drops them first.
"""

import re
from dataclasses import dataclass

_NUMBERED = {"oral": 9, "laugh": 2, "break": 7, "speed": 9}
_PLAIN = ("laugh", "uv_break", "v_break", "lbreak", "llbreak", "music", "pure")

NAMES = (*_PLAIN, *(f"{name}_{n}" for name, most in _NUMBERED.items() for n in range(most + 1)))
"""Every mark there is, without brackets; any other bracket is plain text."""

MARK = re.compile(r"\[(" + "|".join(sorted(NAMES, key=len, reverse=True)) + r")\]")
"""A mark as it is written; group 1 is its name."""

_FIRST = 0xE000
_PLACES = {name: chr(_FIRST + index) for index, name in enumerate(NAMES)}
PLACE = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + len(NAMES) - 1)}]")
"""One mark inside text that is being prepared."""


@dataclass(frozen=True, slots=True)
class ControlMark:
    """A control mark by its name without brackets, one of `NAMES`."""

    name: str

    @classmethod
    def at(cls, place: str) -> "ControlMark":
        """The mark that one character of prepared text stands for."""
        return cls(NAMES[ord(place) - _FIRST])

    @property
    def place(self) -> str:
        """The one character that stands for this mark while text is prepared."""
        return _PLACES[self.name]

    @property
    def written(self) -> str:
        """The mark as the acoustic model is given it."""
        return f"[{self.name}]"

    def known_to(self, marks: frozenset[str]) -> bool:
        """Whether a voice that knows `marks` knows this one ("oral" covers "oral_3")."""
        return self.name in marks or self.name.rpartition("_")[0] in marks


def written(text: str) -> str:
    """Prepared text with each mark written out in brackets."""
    return PLACE.sub(lambda match: ControlMark.at(match[0]).written, text)
