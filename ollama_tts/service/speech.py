"""`SpeechService.speak`: text in, one file's bytes out, as events in order.

name → model → options → lease → utterances (look-ahead) → sound → bytes. Every request ends in
exactly one way and is counted once; leaving early (`aclose`, cancellation) frees all its work.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from ollama_tts.backends.base import Runner
from ollama_tts.config import Settings
from ollama_tts.engine.utterance import Utterance
from ollama_tts.errors import (
    Busy,
    DeadlineExceeded,
    InvalidRequest,
    NotFound,
    TooLarge,
    Unauthorized,
    UnspeakableText,
)
from ollama_tts.metrics import Metrics, Outcome
from ollama_tts.options import Resolved, resolve
from ollama_tts.scheduler import Lease, Scheduler
from ollama_tts.service.ahead import Line, LookAhead
from ollama_tts.service.events import (
    AudioChunk,
    SpeechDone,
    SpeechEvent,
    SpeechRequest,
    SpeechStarted,
)
from ollama_tts.service.script import Script
from ollama_tts.service.template import Template
from ollama_tts.service.timing import Listening
from ollama_tts.service.track import Track, Written
from ollama_tts.store.model import LocalModel
from ollama_tts.text.account import PreparedUtterance
from ollama_tts.text.languages import refuse_unspoken
from ollama_tts.text.preparer import Preparer

log = logging.getLogger(__name__)
T = TypeVar("T")


class SpeechService:
    """Speaks requests on whatever models the scheduler holds."""

    def __init__(
        self,
        settings: Settings,
        find: Callable[[str], LocalModel],
        scheduler: Scheduler,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._find = find
        self._scheduler = scheduler
        self._metrics = metrics

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
        try:
            async with aclosing(self._answer(request)) as events:
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
            self._metrics.request(request.surface, outcome)

    async def _answer(self, request: SpeechRequest) -> AsyncGenerator[SpeechEvent, None]:
        listening = Listening(time.monotonic)
        model = self._find(request.model)
        options = self._options(model, request)
        around = _around(model, request)
        deadline_s = _deadline(options, listening.started_s)
        async with AsyncExitStack() as stack:
            async with _until(deadline_s):
                lease = await stack.enter_async_context(
                    self._scheduler.lease(
                        model, options.load, request.keep_alive_s, options.speech.priority
                    )
                )
            answer = _Answer(request, model, options, lease, deadline_s)
            script = answer.script(around, self._settings.max_text_chars)
            ahead = LookAhead(lease.runner, answer.utterances(script))
            stack.push_async_callback(ahead.aclose)
            async with aclosing(self._sound(answer, ahead, listening)) as events:
                async for event in events:
                    yield event
            yield self._done(answer, listening)

    def _options(self, model: LocalModel, request: SpeechRequest) -> Resolved:
        options = resolve(model.parameters, request.options)
        if options.unknown:
            log.warning("unknown options ignored: %s", ", ".join(options.unknown)[:200])
        return options

    async def _sound(
        self, answer: "_Answer", ahead: LookAhead, listening: Listening
    ) -> AsyncGenerator[SpeechEvent, None]:
        while (line := await answer.within(ahead.next())) is not None:
            answer.begin(line)
            while (piece := await answer.within(line.next())) is not None:
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

    def _events(
        self, answer: "_Answer", listening: Listening, written: Written
    ) -> list[SpeechEvent]:
        if not written.data and not written.duration_s:
            return []
        events: list[SpeechEvent] = []
        if listening.heard(written.duration_s):
            chattts = answer.model.config.model_format == "chattts"
            self._metrics.first_audio(listening.first_audio_s or 0.0, chattts=chattts)
        if not answer.started:
            answer.started = True
            events.append(answer.started_event())
        events.append(answer.chunk(written))
        return events

    def _done(self, answer: "_Answer", listening: Listening) -> SpeechDone:
        took_s = listening.elapsed_s()
        audio_s = answer.track.duration_s
        lease = answer.lease
        first_s = listening.first_audio_s or took_s
        for _ in range(listening.underruns):
            self._metrics.underrun()
        self._metrics.spoken(
            took_s=max(0.0, took_s - lease.load_ns / 1e9), audio_s=audio_s, steps=answer.steps
        )
        prepare_s = max(0.0, first_s - (lease.load_ns + lease.queued_ns) / 1e9)
        return SpeechDone(
            done_reason="length" if answer.cut_short else "stop",
            duration_s=audio_s,
            utterances=answer.spoken,
            cache_hits=0,
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


@dataclass(slots=True)
class _Current:
    """The utterance whose text the next chunk announces."""

    prepared: PreparedUtterance | None = None
    announced: bool = True


class _Answer:
    """The state of one answer; it lives and dies with its request."""

    def __init__(
        self,
        request: SpeechRequest,
        model: LocalModel,
        options: Resolved,
        lease: Lease,
        deadline_s: float | None,
    ) -> None:
        self.request = request
        self.model = model
        self.lease = lease
        self.options = options.speech
        self.track = Track(
            self.runner.traits, options.speech, stretch=request.stretch, whole=request.whole
        )
        self.voice = options.speech.voice or self.runner.traits.voices[0].id
        self.started = False
        self.cut_short = False
        self.steps = 0
        self.spoken = 0
        self.text_tokens = 0
        self._offset = 0
        self._deadline_s = deadline_s
        self._seed = options.speech.seed
        if self._seed is None:
            self._seed = secrets.randbits(62)
        self._current = _Current()

    @property
    def runner(self) -> Runner:
        """The loaded model that speaks this answer."""
        return self.lease.runner

    def script(self, around: tuple[str, str], max_chars: int) -> Script:
        """The request's text as utterances; text in a language the voice lacks is refused."""
        rules = self.runner.traits.text_rules
        self._offset = len(around[0])
        if isinstance(self.request.text, str):
            refuse_unspoken(self.request.text, rules, self.model.name.short)
        preparer = Preparer(
            rules,
            language=self.options.language,
            normalize=self.options.normalize,
            latency=self.options.latency,
        )
        return Script(preparer, self.request.text, around, max_chars)

    async def utterances(
        self, script: Script
    ) -> AsyncIterator[tuple[PreparedUtterance, Utterance]]:
        """Each prepared utterance with what the runner is asked to speak."""
        index = 0
        async for prepared in script.utterances_in_order():
            yield prepared, self._utterance(prepared, index)
            index += 1

    def _utterance(self, prepared: PreparedUtterance, index: int) -> Utterance:
        assert self._seed is not None
        return Utterance(
            text=prepared.text,
            language=prepared.language,
            options=self.options,
            seed=self._seed,
            index=index,
            request_id=self.request.request_id,
            style=self.request.system or self.model.system,
            deadline_s=self._deadline_s,
        )

    async def within(self, waiting: Coroutine[None, None, T]) -> T:
        """Await, but not beyond the request's deadline.

        Raises:
            DeadlineExceeded: The option `deadline_ms` passed.
        """
        async with _until(self._deadline_s):
            return await waiting

    def begin(self, line: Line) -> None:
        """The next utterance begins."""
        self.track.begin(line.prepared.pause)
        self.spoken += 1
        self.text_tokens += self.runner.count(line.prepared.text)
        self._current = _Current(line.prepared, announced=False)

    def started_event(self) -> SpeechStarted:
        """The event that opens the answer."""
        return SpeechStarted(
            self.track.audio, self.voice, self.model.digest.hex, self.lease.load_ns
        )

    def chunk(self, written: Written) -> AudioChunk:
        """Bytes as an event; the first chunk of an utterance tells what it says."""
        prepared = self._current.prepared
        if self._current.announced or prepared is None:
            return AudioChunk(written.data, written.start_s, written.duration_s,
                              utterance=max(0, self.spoken - 1))  # fmt: skip
        self._current.announced = True
        return AudioChunk(
            written.data,
            written.start_s,
            written.duration_s,
            text=prepared.source,
            text_start=max(0, prepared.start - self._offset),
            text_end=max(0, prepared.end - self._offset),
            utterance=self.spoken - 1,
        )


def _around(model: LocalModel, request: SpeechRequest) -> tuple[str, str]:
    if request.raw:
        return "", ""
    text = request.template if request.template is not None else model.template
    if not text:
        return "", ""
    system = request.system if request.system is not None else model.system
    return Template.parse(text).around(system)


def _deadline(options: Resolved, started_s: float) -> float | None:
    if options.speech.deadline_ms is None:
        return None
    return started_s + options.speech.deadline_ms / 1000


@asynccontextmanager
async def _until(deadline_s: float | None) -> AsyncIterator[None]:
    """A block that ends with DeadlineExceeded at this point of the monotonic clock."""
    if deadline_s is None:
        yield
        return
    try:
        async with asyncio.timeout(deadline_s - time.monotonic()):
            yield
    except TimeoutError:
        raise DeadlineExceeded("the deadline of this request (option deadline_ms) passed") from None
