"""Fields of requests that take more than one JSON type: `keep_alive`, `think`, message content."""

import math
from collections.abc import Mapping, Sequence

from ollama_tts.config import go_duration_s
from ollama_tts.errors import InvalidOption, InvalidRequest

FOREVER_S = math.inf
# Go's durations end at 2^63 - 1 nanoseconds, about 292 years; what is longer is for ever.
_LONGEST_S = (2**63 - 1) / 1e9
_KEEP_ALIVE_HELP = (
    'keep_alive takes seconds as a number, or text like "30s", "5m", "-1s" (for ever)'
)
_GO_KINDS: dict[type, str] = {bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
_THINK_LEVELS = ("high", "medium", "low", "max")


def keep_alive_s(value: object) -> float | None:
    """Seconds of a `keep_alive`: None where it was not given, infinite where it is negative.

    Raises:
        InvalidRequest: With Ollama's words, and how to write it.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        kind = _GO_KINDS.get(type(value), type(value).__name__)
        raise InvalidRequest(f"Unsupported type: '{kind}' ({_KEEP_ALIVE_HELP})")
    try:
        seconds = go_duration_s(value) if isinstance(value, str) else float(value)
    except InvalidOption as error:
        raise InvalidRequest(f"{error} ({_KEEP_ALIVE_HELP})") from error
    except OverflowError:
        return FOREVER_S
    return FOREVER_S if seconds < 0 or seconds > _LONGEST_S else seconds


def thinks(value: object) -> bool:
    """Whether `think` asks for thinking.

    Raises:
        InvalidRequest: With Ollama's words.
    """
    if value is None or isinstance(value, bool):
        return bool(value)
    if not isinstance(value, str):
        raise InvalidRequest(
            'think must be a boolean or string ("high", "medium", "low", "max", true, or false)'
        )
    if value not in _THINK_LEVELS:
        raise InvalidRequest(
            f'invalid think value: "{value}" (must be "high", "medium", "low", "max", '
            "true, or false)"
        )
    return True


def plain_text(content: str | Sequence[Mapping[str, object]]) -> str:
    """The text of a message: as it is, or the text parts of a list of parts, by line breaks.

    Raises:
        InvalidRequest: A part that is not text.
    """
    if isinstance(content, str):
        return content
    return "\n".join(_part_text(part) for part in content)


def _part_text(part: Mapping[str, object]) -> str:
    text = part.get("text")
    if part.get("type", "text") != "text" or not isinstance(text, str):
        raise InvalidRequest(f"content part of type {part.get('type')!r} is not text")
    return text
