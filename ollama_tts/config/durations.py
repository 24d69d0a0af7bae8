"""Durations as Go writes them."""

import math
import re

from ollama_tts.errors import InvalidOption

FOREVER_S = math.inf

_GO_UNITS_S = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_GO_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([a-zµμ]*)")


def go_duration_s(text: str) -> float:
    """A Go duration (`300ms`, `1.5h`, `2h45m`, `-1m`, `0`) in seconds; time.ParseDuration's rules.

    Raises:
        InvalidOption: With Go's own wording.
    """
    quoted = '"' + text.replace('"', '\\"') + '"'
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0.0
    if not rest:
        raise InvalidOption(f"time: invalid duration {quoted}")
    total = 0.0
    position = 0
    while position < len(rest):
        match = _GO_PART.match(rest, position)
        if match is None:
            raise InvalidOption(f"time: invalid duration {quoted}")
        if not match[2]:
            raise InvalidOption(f"time: missing unit in duration {quoted}")
        if match[2] not in _GO_UNITS_S:
            raise InvalidOption(f'time: unknown unit "{match[2]}" in duration {quoted}')
        total += float(match[1]) * _GO_UNITS_S[match[2]]
        position = match.end()
    return sign * total
