"""`TextRules`: what a voice wants of its text."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TextRules:
    """What one voice can be given.

    `languages`: codes this voice speaks ("en", "zh", "ja").
    `max_chars`: longest utterance, in characters of prepared text.
    `min_chars`: a shorter utterance is merged with its neighbour where that is possible.
    `marks`: control marks the voice knows, without brackets ("uv_break", "laugh", "oral" …);
        "oral_3" is known when "oral" is. Empty: marks are dropped on the account.
    `alphabet`: "words" takes any letters of its languages; "chattts" only CJK, Latin letters
        and the basic punctuation that the ChatTTS tokenizer knows; "any" takes text untouched.
    `reads_numbers`: True where the voice writes digits and symbols out as words itself.
    `han_weight`: how much of `max_chars` and `min_chars` one Chinese character takes up.
    `homophones`: character to character, applied last, for characters that the voice misreads.
    """

    languages: tuple[str, ...] = ("en",)
    max_chars: int = 250
    min_chars: int = 4
    marks: frozenset[str] = frozenset()
    alphabet: str = "words"
    reads_numbers: bool = False
    han_weight: int = 1
    homophones: Mapping[str, str] = field(default_factory=dict, hash=False)


CHATTTS_MARKS = frozenset(
    {"uv_break", "v_break", "lbreak", "llbreak", "laugh", "oral", "break", "speed", "music", "pure"}
)
"""The control marks that ChatTTS knows inside text."""

CHATTTS_RULES = TextRules(
    languages=("zh", "en"),
    max_chars=250,
    marks=CHATTTS_MARKS,
    alphabet="chattts",
    han_weight=2,
)
"""What ChatTTS can be given: 250 characters, a Chinese one counting two (some 30 s of sound)."""
