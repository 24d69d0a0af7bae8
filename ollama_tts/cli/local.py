"""`Local`: a node in this process speaks, without a port."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from ollama_tts.cli.job import Job, Sound
from ollama_tts.cli.stretches import joined
from ollama_tts.client import OnProgress, SpeechChunk, SpeechEnd
from ollama_tts.node import Node
from ollama_tts.protocol.ollama import GenerateRequest, ProgressResponse, PullRequest
from ollama_tts.service.events import (
    AudioChunk,
    AudioFormat,
    SpeechDone,
    SpeechEvent,
    SpeechRequest,
    SpeechStarted,
)


class Local:
    """Speaks on the models of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def where(self) -> str:
        """See `Speaker.where`."""
        return "in this process"

    async def model_format(self, model: str) -> str:
        """See `Speaker.model_format`."""
        return self._node.models.resolve(model).config.model_format

    async def pull(self, model: str, on_progress: OnProgress) -> None:
        """See `Speaker.pull`."""
        async for step in self._node.models.pull(PullRequest(model=model)):
            on_progress(
                ProgressResponse(
                    status=step.status,
                    digest=step.digest,
                    total=step.total,
                    completed=step.completed,
                )
            )

    async def speak(self, job: Job) -> Sound:
        """See `Speaker.speak`."""
        if isinstance(job.text, str):
            sound = self._ask(job, job.text, job.options, whole=job.whole)
        else:
            sound = joined(job, job.text, lambda text, options: self._ask(job, text, options))
        async with aclosing(sound) as events:
            async for event in events:
                yield event

    async def _ask(
        self, job: Job, text: str, options: Mapping[str, object], *, whole: bool = False
    ) -> Sound:
        request = SpeechRequest(job.model, text, options, whole=whole)
        audio = AudioFormat("", "", 0)
        async with aclosing(self._events(request, text)) as events:
            async for event in events:
                if isinstance(event, SpeechStarted):
                    audio = event.audio
                elif isinstance(event, AudioChunk):
                    yield _chunk(event, audio)
                else:
                    yield _end(event, audio)

    def _events(self, request: SpeechRequest, text: str) -> AsyncGenerator[SpeechEvent, None]:
        """The text spoken, or what a language model answers to it, as a server would."""
        model = self._node.models.resolve(request.model)
        asked = GenerateRequest(model=request.model, prompt=text, options=dict(request.options))
        question = self._node.spoken.question(model, asked)
        if question is None:
            return self._node.speech.speak(request)
        return self._node.spoken.speak(request, question)


def _chunk(chunk: AudioChunk, audio: AudioFormat) -> SpeechChunk:
    return SpeechChunk(
        chunk.data,
        audio.mime_type,
        audio.sample_rate_hz,
        chunk.start_s,
        chunk.duration_s,
        chunk.text,
    )


def _end(done: SpeechDone, audio: AudioFormat) -> SpeechEnd:
    return SpeechEnd(
        done_reason=done.done_reason,
        mime_type=audio.mime_type,
        sample_rate_hz=audio.sample_rate_hz,
        duration_s=done.duration_s,
        utterances=done.utterances,
        cache_hits=done.cache_hits,
        first_audio_ms=done.first_audio_ms,
        voice=done.voice,
        model_digest=done.model_digest,
        total_ns=done.total_ns,
        load_ns=done.load_ns,
        prompt_eval_count=done.prompt_eval_count,
        prompt_eval_ns=done.prompt_eval_ns,
        eval_count=done.eval_count,
        eval_ns=done.eval_ns,
    )
