"""`TextRules`: what a voice wants of its text."""

from dataclasses import dataclass


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
    """

    languages: tuple[str, ...] = ("en",)
    max_chars: int = 250
    min_chars: int = 4
    marks: frozenset[str] = frozenset()
    alphabet: str = "words"
    reads_numbers: bool = False
