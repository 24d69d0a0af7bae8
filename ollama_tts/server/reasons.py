"""What a caller may read about an error, through whatever door."""

import re

from ollama_tts.errors import Failed, InvalidWeights, OllamaTTSError

INTERNAL = "internal error"
MAX_TEXT_CHARS = 1000  # a value that is quoted must not make the answer as large as the request

_PATH = re.compile(r"(?<![\w:/.])/(?:[\w.@+~-]+/)+[\w.@+~-]*")
"""An absolute path of two parts or more, in a text that may quote a library's error."""


def text_of(error: BaseException) -> str:
    """The text of one of our own errors; of unknown ones nothing but that there was one."""
    if not isinstance(error, OllamaTTSError):
        return INTERNAL
    text = str(error) or type(error).__name__
    if isinstance(error, Failed | InvalidWeights):
        text = _PATH.sub("(a path)", text)
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 3] + "..."
