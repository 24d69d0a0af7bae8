"""`SpokenService`: what a language model answers, spoken while it is being written.

The language model's text is the text of an ordinary speech request, so utterances start as soon
as they are complete. Leaving stops both: the voice first, then the request to the upstream.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace

from ollama_tts.errors import OllamaFailed, Unsupported
from ollama_tts.protocol.ollama import SpeakingRequest
from ollama_tts.service.events import AudioChunk, SpeechDone, SpeechEvent, SpeechRequest
from ollama_tts.service.question import llm_of, question, voice_options
from ollama_tts.store.model import LocalModel
from ollama_tts.upstream.client import Upstream
from ollama_tts.upstream.telling import Question, Telling

Speak = Callable[[SpeechRequest], AsyncGenerator[SpeechEvent, None]]


class SpokenService:
    """Asks the upstream's language models and has their answers spoken by `speak`."""

    def __init__(self, upstream: Upstream | None, speak: Speak) -> None:
        self._upstream = upstream
        self._speak = speak

    def question(self, model: LocalModel, request: SpeakingRequest) -> Question | None:
        """What to ask for a request to a model; None where the request's own text is spoken.

        Raises:
            Unsupported: A language model is named, but there is no upstream.
            InvalidRequest: The option `llm` is no text, or a message is none.
        """
        llm = llm_of(model, request.options)
        if not llm:
            return None
        if self._upstream is None:
            raise Unsupported(
                f'the language model "{llm}" (option llm) cannot be asked: '
                "this server has no Ollama behind it (OLLAMA_UPSTREAM)"
            )
        return question(llm, request, model)

    async def speak(
        self, request: SpeechRequest, asked: Question
    ) -> AsyncGenerator[SpeechEvent, None]:
        """The answer's events, as `SpeechService.speak` gives them; its `text` is not used.

        `written` of the chunks holds the language model's whole text, in order.

        Raises:
            OllamaFailed: No answer, or none that holds text.
            OllamaTTSError: As `SpeechService.speak`, or as the language model refuses.
        """
        assert self._upstream is not None
        async with Telling(self._upstream, asked) as telling:
            text = _Text(telling.parts(), asked.llm)
            voiced = replace(
                request,
                text=text.parts(),
                begun=telling.begun,
                system="",
                options=voice_options(request.options),
            )
            async with aclosing(self._speak(voiced)) as events:
                async for event in events:
                    if isinstance(event, SpeechDone):
                        if rest := text.rest(event.duration_s):
                            yield rest
                        yield _ended(event, telling.done_reason)
                    else:
                        yield text.marked(event) if isinstance(event, AudioChunk) else event


def _ended(done: SpeechDone, reason: str) -> SpeechDone:
    """The end, which is `length` too where the language model was cut short."""
    return replace(done, done_reason="length") if reason == "length" else done


class _Text:
    """The text on its way from the language model to the voice: who asks may read it, too."""

    def __init__(self, parts: AsyncIterator[str], llm: str) -> None:
        self._parts = parts
        self._llm = llm
        self._pending: list[str] = []
        self._start = 0

    async def parts(self) -> AsyncIterator[str]:
        """The same parts.

        Raises:
            OllamaFailed: They hold white space at most.
        """
        empty = True
        async for part in self._parts:
            self._pending.append(part)
            empty = empty and not part.strip()
            yield part
        if empty:
            raise OllamaFailed(f'the language model "{self._llm}" (option llm) answered nothing')

    def marked(self, chunk: AudioChunk) -> AudioChunk:
        """The chunk that begins an utterance, with the text up to that utterance's end."""
        if not chunk.text:
            return chunk
        text = "".join(self._pending)
        end = max(0, chunk.text_end - self._start)
        self._pending = [text[end:]]
        self._start += len(text[:end])
        return replace(chunk, written=text[:end])

    def rest(self, at_s: float) -> AudioChunk | None:
        """What follows the last utterance, such as code; None where it is white space."""
        text = "".join(self._pending)
        self._pending = []
        return AudioChunk(b"", at_s, 0.0, written=text) if text.strip() else None
