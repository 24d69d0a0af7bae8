"""What is to be said, and what a speaker of it must be able to do."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ollama_tts.client import OnProgress, SpeechChunk, SpeechEnd

Sound = AsyncGenerator[SpeechChunk | SpeechEnd]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be said. `text` is whole, or parts as they are written.

    `whole` asks for the file in one piece, whose headers know the length of what follows.
    """

    model: str
    text: str | AsyncIterator[str]
    options: Mapping[str, object] = field(default_factory=dict)
    keep_alive: float | str | None = None
    whole: bool = False


class Speaker(Protocol):
    """Speaks jobs; several may be under way at once."""

    @property
    def where(self) -> str:
        """The server's address, or `in this process`."""

    async def model_format(self, model: str) -> str:
        """The format of a stored model, `hibari` for example.

        Raises:
            NotFound: There is none of that name.
        """

    async def pull(self, model: str, on_progress: OnProgress) -> None:
        """Fetch a model that is not there.

        Raises:
            OllamaTTSError: It cannot be had.
        """

    def speak(self, job: Job) -> Sound:
        """The job's one file in pieces, and the figures as the last item.

        Raises:
            OllamaTTSError: It cannot be spoken.
        """
