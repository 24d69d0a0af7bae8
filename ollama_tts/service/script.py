"""`Script`: what one request says, as utterances, while its text is still arriving."""

import asyncio
from collections.abc import AsyncIterator

from ollama_tts.errors import TooLarge
from ollama_tts.text.account import PreparedUtterance
from ollama_tts.text.preparer import Preparer

SLICE_CHARS = 2000


class Script:
    """Prepares text slice by slice, so that a long text neither blocks nor delays the first sound.

    `dropped_all` after the end: the text held nothing that can be spoken.
    """

    def __init__(
        self, preparer: Preparer, text: str | AsyncIterator[str], around: tuple[str, str],
        max_chars: int,
    ) -> None:  # fmt: skip
        self._preparer = preparer
        self._text = text
        self._before, self._after = around
        self._max_chars = max_chars
        self._taken_chars = 0
        self.utterances = 0

    async def utterances_in_order(self) -> AsyncIterator[PreparedUtterance]:
        """Every utterance once, in order, as soon as its end is certain.

        Raises:
            TooLarge: The text is longer than the server takes.
        """
        async for part in self._parts():
            for prepared in self._preparer.feed(part):
                self.utterances += 1
                yield prepared
        for prepared in self._preparer.finish():
            self.utterances += 1
            yield prepared

    async def _parts(self) -> AsyncIterator[str]:
        yield self._before
        if isinstance(self._text, str):
            self._take(self._text)
            for start in range(0, len(self._text), SLICE_CHARS):
                yield self._text[start : start + SLICE_CHARS]
                await asyncio.sleep(0)
        else:
            async for part in self._text:
                self._take(part)
                yield part
        yield self._after

    def _take(self, part: str) -> None:
        self._taken_chars += len(part)
        if self._taken_chars > self._max_chars:
            raise TooLarge(
                f"the text is longer than {self._max_chars} characters; send it in parts"
            )
