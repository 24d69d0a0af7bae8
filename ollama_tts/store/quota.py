"""`Quota`: how much all blobs of a store may hold together."""

import os
from pathlib import Path

from ollama_tts.errors import StoreFull


class Quota:
    """`most_bytes` 0 sets no bound. Whatever lies in the folder counts, also what is on its way."""

    def __init__(self, folder: Path, most_bytes: int = 0) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def check(self, more_bytes: int = 0, *, instead_of: str = "") -> None:
        """Look whether so many bytes may come to what is here, or in place of one file.

        Raises:
            StoreFull: They may not; the text names the setting.
        """
        if not self._most_bytes:
            return
        held_bytes = self._held_bytes(instead_of) + more_bytes
        if held_bytes > self._most_bytes:
            raise StoreFull(
                f"the models would hold {held_bytes} bytes, more than the {self._most_bytes} of "
                "OLLAMA_TTS_MAX_STORE_BYTES; delete some first"
            )

    def _held_bytes(self, but: str) -> int:
        held = 0
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    held += _size_bytes(entry) if entry.name != but else 0
        except FileNotFoundError:
            return 0
        return held


def _size_bytes(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # another process was quicker
        return 0
