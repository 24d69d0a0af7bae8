"""Bytes as base64 in lines of 64 characters, chunk by chunk.

Lines of 64 pass the word wrap of `ollama run` (76 do not). As every chunk is whole lines of
48 bytes each, every chunk decodes alone, and all chunks in a row are one base64 text.
"""

from typing import Final

import numpy as np
from pybase64 import b64encode

LINE_CHARS: Final = 64
LINE_BYTES: Final = 48
JSON_LINE_END: Final = b"\\n"
"""A line feed as it stands in a JSON text: a backslash and an n."""


class Base64Lines:
    """Base64 text of a stream of bytes; `end` follows each line."""

    def __init__(self, end: bytes = b"\n") -> None:
        self._end = end
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete now, each 64 characters and its end; may be empty."""
        data = self._rest + data
        cut = len(data) - len(data) % LINE_BYTES
        self._rest = data[cut:]
        return self._lines(data[:cut])

    def finish(self) -> bytes:
        """The last line, shorter than the others and padded, with its end; or nothing."""
        rest, self._rest = self._rest, b""
        return b64encode(rest) + self._end if rest else b""

    def pieces(self, text: bytes, max_lines: int) -> list[bytes]:
        """Text of `feed` and `finish` cut into pieces of at most `max_lines` lines, in order."""
        step = max_lines * (LINE_CHARS + len(self._end))
        return [text[start : start + step] for start in range(0, len(text), step)]

    def _lines(self, data: bytes) -> bytes:
        lines = np.frombuffer(b64encode(data), np.uint8).reshape(-1, LINE_CHARS)
        rows = np.empty((len(lines), LINE_CHARS + len(self._end)), np.uint8)
        rows[:, :LINE_CHARS] = lines
        rows[:, LINE_CHARS:] = np.frombuffer(self._end, np.uint8)
        return rows.tobytes()
