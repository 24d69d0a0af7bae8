"""What becomes of a text: its utterances, and every character that is not spoken."""

from ollama_tts.text.languages import unspoken
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import CHATTTS_RULES, TextRules


def explain(
    text: str, language: str = "auto", rules: TextRules | None = None
) -> dict[str, list[dict[str, object]]]:
    """The account of `text` as plain values, ready for JSON.

    Returns:
        `utterances`: text, language, controls, start, end of each, as the acoustic model is
        given them. `dropped`: start, end, text, reason. Offsets are code points of the input.
    """
    preparer = Preparer(rules or CHATTTS_RULES, language)
    utterances = preparer.feed(text) + preparer.finish()
    return {
        "utterances": [
            {
                "text": utterance.text,
                "language": utterance.language,
                "controls": list(utterance.controls),
                "start": utterance.start,
                "end": utterance.end,
            }
            for utterance in utterances
        ],
        "dropped": [
            {"start": entry.start, "end": entry.end, "text": entry.text, "reason": entry.reason}
            for entry in preparer.dropped
        ],
    }


def refusal(text: str, language: str, rules: TextRules) -> str | None:
    """Why a voice of these rules refuses `text`, or None where it has all its languages."""
    preparer = Preparer(rules, language)
    return unspoken(preparer.feed(text) + preparer.finish(), rules)
