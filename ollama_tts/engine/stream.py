"""The mailbox of one utterance: filled from the engine's thread, read in the event loop."""

import asyncio
from collections.abc import AsyncGenerator

import numpy as np

from ollama_tts.engine.utterance import Piece
from ollama_tts.errors import OllamaTTSError


class Mailbox:
    """Where an utterance's pieces arrive, in order. Only the event loop touches it.

    It ends once: whichever of "last piece", "failed" and "left" comes first; what comes after
    that is dropped.
    """

    def __init__(self) -> None:
        self.ended = False
        self._pieces: list[Piece] = []
        self._error: OllamaTTSError | None = None
        self._news = asyncio.Event()

    def put(self, piece: Piece) -> None:
        """Add a piece."""
        if not self.ended:
            self._pieces.append(piece)
            self.ended = piece.finish is not None
            self._news.set()

    def fail(self, error: OllamaTTSError) -> None:
        """End with an error, raised once what came before has been read."""
        if not self.ended:
            self.ended = True
            self._error = error
            self._news.set()

    def leave(self) -> bool:
        """The reader leaves; returns whether there was still work to call off."""
        working, self.ended = not self.ended, True
        return working

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        """The pieces as they come; a late reader gets what has gathered as one.

        Raises:
            OllamaTTSError: The utterance failed.
        """
        while True:
            if self._pieces:
                piece = joined(self._pieces)
                self._pieces = []
                yield piece
                if piece.finish is not None:
                    return
                continue
            if self._error is not None:
                raise self._error
            self._news.clear()
            await self._news.wait()


def joined(pieces: list[Piece]) -> Piece:
    """Pieces that follow each other as one: the same samples, the last one's `finish`."""
    if len(pieces) == 1:
        return pieces[0]
    samples = np.concatenate([piece.samples for piece in pieces])
    return Piece(samples, sum(piece.steps for piece in pieces), pieces[-1].finish)


class Answer:
    """Where the ids of a text job arrive, all at once. Only the event loop touches it."""

    def __init__(self) -> None:
        self._future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()

    def put(self, ids: list[int]) -> None:
        """Give the ids."""
        if not self._future.done():
            self._future.set_result(ids)

    def fail(self, error: OllamaTTSError) -> None:
        """End with an error."""
        if not self._future.done():
            self._future.set_exception(error)

    def leave(self) -> bool:
        """The reader leaves; returns whether there was still work to call off."""
        self._future.cancel()
        if self._future.cancelled():
            return True
        self._future.exception()  # read, even where the reader was cancelled at the same time
        return False

    async def ids(self) -> list[int]:
        """The ids, once they are there.

        Raises:
            OllamaTTSError: The job failed.
        """
        return await self._future
