"""`Unthought`: a language model's text without what it thought first.

Ollama moves thinking into a field of its own where it knows the model (thinking/parser.go); where
it does not, the answer itself begins with it, between tags. Tags further on are plain text.
"""

from typing import Literal

_TAGS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


class Unthought:
    """Takes text part by part; gives what is no thinking."""

    def __init__(self) -> None:
        self._state: Literal["start", "inside", "after", "outside"] = "start"
        self._held = ""
        self._close = ""

    def feed(self, text: str) -> str:
        """Take more text; give what can be spoken of it now."""
        if self._state == "start":
            return self._begin(text)
        if self._state == "inside":
            return self._think(text)
        if self._state == "after":
            text = text.lstrip()
            self._state = "outside" if text else "after"
        return text

    def finish(self) -> str:
        """No more comes: what was held back, as it might have been a tag."""
        held, self._held = self._held, ""
        return held if self._state == "start" else ""

    def _begin(self, text: str) -> str:
        text = self._held + text
        bare = text.lstrip()
        for opening, closing in _TAGS:
            if bare.startswith(opening):
                self._state, self._close, self._held = "inside", closing, ""
                return self.feed(bare.removeprefix(opening))
        if any(opening.startswith(bare) for opening, _ in _TAGS):
            self._held = text
            return ""
        self._state, self._held = "outside", ""
        return text

    def _think(self, text: str) -> str:
        _, found, rest = (self._held + text).partition(self._close)
        if not found:
            self._held = (self._held + text)[-len(self._close) :]
            return ""
        self._state, self._held = "after", ""
        return self.feed(rest)
