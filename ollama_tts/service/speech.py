"""`SpeechService.speak`: text in, one file's bytes out, as events in order.

name → model → options → lease → utterances (look-ahead) → sound → bytes. Every request ends in
exactly one way and is counted once; leaving early (`aclose`, cancellation) frees all its work.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass

from ollama_tts import logs
from ollama_tts.config import Settings
from ollama_tts.errors import (
    Busy,
    InvalidRequest,
    InvalidWeights,
    LoadFailed,
    NotFound,
    TooLarge,
    Unauthorized,
    UnspeakableText,
)
from ollama_tts.metrics import Metrics, Outcome
from ollama_tts.options import resolve
from ollama_tts.scheduler import Lease, Scheduler, Terms
from ollama_tts.service.ahead import LookAhead
from ollama_tts.service.answer import Answer, Asked
from ollama_tts.service.cached import SoundMemory
from ollama_tts.service.deadline import Deadline
from ollama_tts.service.events import SpeechDone, SpeechEvent, SpeechRequest
from ollama_tts.service.routing import Routing
from ollama_tts.service.template import Template
from ollama_tts.service.timing import Listening
from ollama_tts.service.track import Written
from ollama_tts.store.model import LocalModel
from ollama_tts.traces import SpokenRequest, Traces

log = logging.getLogger(__name__)


_LOGGED_NAME_CHARS = 200
AROUND_CHARS = 100_000
"""Most text that a template may put around the prompt."""


@dataclass(frozen=True, slots=True)
class Records:
    """Where what happened to a request is written down."""

    metrics: Metrics
    traces: Traces


class SpeechService:
    """Speaks requests on whatever models the scheduler holds.

    `others` names the models there are with their languages, for who asked the wrong voice.
    """

    def __init__(
        self,
        settings: Settings,
        routing: Routing,
        scheduler: Scheduler,
        records: Records,
        *,
        memory: SoundMemory,
        others: str = "",
    ) -> None:
        self._settings = settings
        self._routing = routing
        self._scheduler = scheduler
        self._metrics = records.metrics
        self._traces = records.traces
        self._others = others
        self._memory = memory

    async def speak(self, request: SpeechRequest) -> AsyncGenerator[SpeechEvent, None]:
        """The answer's events: SpeechStarted, AudioChunk …, SpeechDone.

        SpeechStarted comes when the first sound is there, so whatever goes wrong before it is
        raised before anything was sent.

        Raises:
            InvalidRequest: Name, option or text cannot be spoken.
            ModelNotFound: No such model.
            Busy: The queue is full.
            DeadlineExceeded: The option `deadline_ms` passed.
            OllamaTTSError: Loading or speaking failed.
        """
        outcome: Outcome = "failed"
        listening = Listening(time.monotonic)
        try:
            async with aclosing(self._answer(request, listening)) as events:
                async for event in events:
                    yield event
            outcome = "ok"
        except (GeneratorExit, asyncio.CancelledError):
            outcome = "cancelled"
            raise
        except Busy:
            outcome = "rejected"
            raise
        except (InvalidRequest, NotFound, TooLarge, Unauthorized):
            outcome = "client_error"
            raise
        finally:
            self._count(request, outcome, listening)
            told = _told(request, outcome, listening)
            log.info("speech", extra=logs.figures(_figures(told)))
            self._traces.spoken(told)

    def _count(self, request: SpeechRequest, outcome: Outcome, listening: Listening) -> None:
        self._metrics.request(request.surface, outcome)
        if listening.counted_as:
            self._metrics.by_model.spoken(
                listening.counted_as,
                outcome,
                first_s=listening.first_audio_s,
                audio_s=listening.audio_s,
                gaps=listening.underruns,
            )

    async def _answer(
        self, request: SpeechRequest, listening: Listening
    ) -> AsyncGenerator[SpeechEvent, None]:
        asked = self._asked(request, listening)
        _around(asked.model, request)  # what is too long is refused before anything is loaded
        async with AsyncExitStack() as stack:
            if request.begun is not None:
                await asked.deadline.wait(request.begun())
            asked, lease = await self._leased(asked, listening, stack)
            around = _around(asked.model, request)
            listening.leased(lease.queued_ns / 1e9, lease.load_ns / 1e9)
            answer = Answer(asked, lease, self._memory, others=self._others)
            script = answer.script(around, self._settings.max_text_chars)
            ahead = LookAhead(answer.speaker, answer.utterances(script))
            stack.push_async_callback(ahead.aclose)
            async with aclosing(self._sound(answer, ahead, listening)) as events:
                async for event in events:
                    yield event
            yield self._done(answer, listening)

    def _asked(self, request: SpeechRequest, listening: Listening) -> Asked:
        model = self._routing.chosen(request.model, request.client_id, request.options)
        return self._asked_of(model, request, listening)

    def _asked_of(self, model: LocalModel, request: SpeechRequest, listening: Listening) -> Asked:
        options = resolve(model.parameters, request.options)
        if options.unknown:
            log.warning("unknown options ignored: %s", ", ".join(options.unknown)[:200])
        if options.speech.custom_metrics:
            listening.counted_as = model.name.short
        deadline = Deadline.after(listening.started_s, options.speech.deadline_ms)
        return Asked(request, model, options, deadline)

    async def _leased(
        self, asked: Asked, listening: Listening, stack: AsyncExitStack
    ) -> tuple[Asked, Lease]:
        """A place on the model; on what its name means by now, if it was replaced meanwhile.

        The files of a model that was replaced before it was loaded are gone.
        """
        try:
            return asked, await asked.deadline.wait(stack.enter_async_context(self._lease(asked)))
        except (LoadFailed, InvalidWeights):
            now = self._routing.successor(asked.model)
            if now is None:
                raise
            asked = self._asked_of(now, asked.request, listening)
            return asked, await asked.deadline.wait(stack.enter_async_context(self._lease(asked)))

    def _lease(self, asked: Asked) -> AbstractAsyncContextManager[Lease]:
        options, text = asked.options, asked.request.text
        terms = Terms(
            client=asked.request.client,
            priority=options.speech.priority,
            chars=len(text) if isinstance(text, str) else None,
            deadline_s=asked.deadline.at_s,
        )
        return self._scheduler.lease(asked.model, options.load, asked.request.keep_alive_s, terms)

    async def _sound(
        self, answer: Answer, ahead: LookAhead, listening: Listening
    ) -> AsyncGenerator[SpeechEvent, None]:
        while (line := await answer.deadline.wait(ahead.next())) is not None:
            answer.begin(line)
            while (piece := await answer.deadline.wait(line.next())) is not None:
                written = answer.track.feed(piece.samples)
                answer.steps += piece.steps
                answer.cut_short |= piece.finish == "length"
                for event in self._events(answer, listening, written):
                    yield event
            for event in self._events(answer, listening, answer.track.end()):
                yield event
            ahead.heard()
        if answer.spoken == 0:
            raise UnspeakableText(
                "the text holds nothing that can be spoken (only marks, symbols or white space)"
            )
        for event in self._events(answer, listening, answer.track.finish()):
            yield event

    def _events(self, answer: Answer, listening: Listening, written: Written) -> list[SpeechEvent]:
        if not written.data and not written.duration_s:
            return []
        events: list[SpeechEvent] = []
        before = listening.underruns
        first = listening.heard(written.duration_s)
        if listening.underruns > before:
            self._metrics.underrun()
        if first:
            chattts = answer.model.config.model_format == "chattts"
            self._metrics.first_audio(listening.first_audio_s or 0.0, chattts=chattts)
        if not answer.started:
            answer.started = True
            events.append(answer.started_event())
        events.append(answer.chunk(written))
        return events

    def _done(self, answer: Answer, listening: Listening) -> SpeechDone:
        took_s = listening.elapsed_s()
        audio_s = answer.track.duration_s
        lease = answer.lease
        first_s = listening.first_audio_s or took_s
        self._metrics.spoken(took_s=max(0.0, took_s - lease.load_ns / 1e9), audio_s=audio_s)
        prepare_s = max(0.0, first_s - (lease.load_ns + lease.queued_ns) / 1e9)
        return SpeechDone(
            done_reason="length" if answer.cut_short else "stop",
            duration_s=audio_s,
            utterances=answer.spoken,
            cache_hits=answer.speaker.hits,
            first_audio_ms=first_s * 1000,
            voice=answer.voice,
            model_digest=answer.model.digest.hex,
            total_ns=int(took_s * 1e9),
            load_ns=lease.load_ns,
            prompt_eval_count=answer.text_tokens,
            prompt_eval_ns=int(prepare_s * 1e9),
            eval_count=answer.steps,
            eval_ns=int((took_s - first_s) * 1e9) + 1,
        )


def _told(request: SpeechRequest, outcome: Outcome, listening: Listening) -> SpokenRequest:
    return SpokenRequest(
        model=request.model,
        surface=request.surface,
        outcome=outcome,
        task_id=logs.request_id.get(),
        took_s=listening.elapsed_s(),
        queued_s=listening.queued_s,
        load_s=listening.load_s,
        first_audio_s=listening.first_audio_s,
        audio_s=listening.audio_s,
        underruns=listening.underruns,
    )


def _figures(told: SpokenRequest) -> dict[str, object]:
    """The line of one request: names and durations, never what was said."""
    return {
        "surface": told.surface,
        "model": told.model[:_LOGGED_NAME_CHARS],
        "outcome": told.outcome,
        "took_s": round(told.took_s, 6),
        "queued_s": round(told.queued_s, 6),
        "load_s": round(told.load_s, 6),
        "first_audio_s": told.first_audio_s and round(told.first_audio_s, 6),
        "audio_s": round(told.audio_s, 6),
        "underruns": told.underruns,
    }


def _around(model: LocalModel, request: SpeechRequest) -> tuple[str, str]:
    """The text before and after the prompt."""
    system = request.system if request.system is not None else model.system
    text = request.template if request.template is not None else model.template
    template = Template.parse("" if request.raw else text)
    if max(len(system), template.most_chars(system)) > AROUND_CHARS:
        raise TooLarge(f"template and system together hold more than {AROUND_CHARS} characters")
    return template.around(system)
