"""Bytes as base64 in lines of 64 characters, chunk by chunk.

Lines of 64 pass the word wrap of `ollama run` (76 do not). As every chunk is whole lines of
48 bytes each, every chunk decodes alone, and all chunks in a row are one base64 text.
"""

from binascii import b2a_base64
from typing import Final

import numpy as np

LINE_CHARS: Final = 64
LINE_BYTES: Final = 48
_FULL_LINE_CHARS = LINE_CHARS + 1

MAX_PIECE_LINES: Final = 640
"""Lines of one JSON object: 42,240 bytes with line feeds escaped, 30,720 bytes of sound. The rest
of a 48 KiB NDJSON line (strict clients read none longer) is left to the other fields."""


class Base64Lines:
    """Base64 text of a stream of bytes."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> str:
        """The lines that are complete now, each 64 characters and a line feed; may be empty."""
        data = self._rest + data
        cut = len(data) - len(data) % LINE_BYTES
        self._rest = data[cut:]
        return _lines(data[:cut])

    def finish(self) -> str:
        """The last line, shorter than the others and padded, with its line feed; or nothing."""
        rest, self._rest = self._rest, b""
        return b2a_base64(rest).decode("ascii") if rest else ""


def _lines(data: bytes) -> str:
    encoded = np.frombuffer(b2a_base64(data, newline=False), np.uint8)
    rows = np.full((len(data) // LINE_BYTES, _FULL_LINE_CHARS), ord("\n"), np.uint8)
    rows[:, :LINE_CHARS] = encoded.reshape(-1, LINE_CHARS)
    return rows.tobytes().decode("ascii")


def split_lines(text: str, max_lines: int = MAX_PIECE_LINES) -> list[str]:
    """Text of `Base64Lines` cut into pieces of at most `max_lines` lines, in order; [] for ""."""
    step = max_lines * _FULL_LINE_CHARS
    return [text[start : start + step] for start in range(0, len(text), step)]
