"""`Script`: what one request says, as utterances, while its text is still arriving."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from ollama_tts.errors import TooLarge
from ollama_tts.service.events import Flush
from ollama_tts.text.account import PreparedUtterance
from ollama_tts.text.preparer import Preparer

SLICE_CHARS = 500


class Script:
    """Prepares text slice by slice, so that a long text neither blocks nor delays the first sound.

    `make` gives a preparer for each stretch between flushes; `around` is what stands before and
    after the text.
    """

    def __init__(
        self,
        make: Callable[[], Preparer],
        text: str | AsyncIterator[str | Flush],
        around: tuple[str, str],
        max_chars: int,
    ) -> None:
        self._make = make
        self._text = text
        self._before, self._after = around
        self._max_chars = max_chars
        self._taken_chars = 0
        self._flushed_chars = 0

    async def utterances_in_order(self) -> AsyncIterator[PreparedUtterance]:
        """Every utterance once, in order, as soon as its end is certain.

        Raises:
            TooLarge: The text is longer than the server takes.
        """
        preparer = self._make()
        async for part in self._parts():
            if isinstance(part, Flush):
                for prepared in preparer.finish():
                    yield self._placed(prepared)
                preparer, self._flushed_chars = self._make(), self._taken_chars
            else:
                self._taken_chars += len(part)
                for prepared in preparer.stream(part):
                    yield self._placed(prepared)

    def _placed(self, prepared: PreparedUtterance) -> PreparedUtterance:
        """The same with its place in the whole text, where a flush came before."""
        if not self._flushed_chars:
            return prepared
        return replace(
            prepared,
            start=prepared.start + self._flushed_chars,
            end=prepared.end + self._flushed_chars,
        )

    async def _parts(self) -> AsyncIterator[str | Flush]:
        async for piece in _slices(self._before):
            yield piece
        if isinstance(self._text, str):
            self._check(len(self._text))
            async for piece in _slices(self._text):
                yield piece
        else:
            async for part in self._text:
                self._check(0 if isinstance(part, Flush) else len(part))
                yield part
        async for piece in _slices(self._after):
            yield piece
        yield Flush.NOW

    def _check(self, more_chars: int) -> None:
        if self._taken_chars + more_chars > self._max_chars:
            raise TooLarge(
                f"the text is longer than {self._max_chars} characters; send it in parts"
            )


async def _slices(text: str) -> AsyncIterator[str]:
    """The text in pieces; between them others get their turn."""
    for start in range(0, len(text), SLICE_CHARS):
        yield text[start : start + SLICE_CHARS]
        await asyncio.sleep(0)
