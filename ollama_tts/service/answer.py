"""`Answer`: the state of one answer; it lives and dies with its request."""

import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from ollama_tts.backends.base import Runner
from ollama_tts.engine.utterance import Utterance
from ollama_tts.errors import UnspeakableText
from ollama_tts.options import Resolved
from ollama_tts.scheduler import Lease
from ollama_tts.service.ahead import Line
from ollama_tts.service.cached import SoundMemory, Voice
from ollama_tts.service.deadline import Deadline
from ollama_tts.service.events import AudioChunk, SpeechRequest, SpeechStarted
from ollama_tts.service.script import Script
from ollama_tts.service.track import Track, Written
from ollama_tts.store.model import LocalModel
from ollama_tts.text.account import PreparedUtterance
from ollama_tts.text.languages import unspoken
from ollama_tts.text.preparer import Preparer

CHECKED_CHARS = 20_000
"""So much of a whole text is judged before any of it is spoken; the rest as it comes."""

_GREEK = re.compile("[\u0370-\u03ff]")  # read as names of letters in any language


@dataclass(slots=True)
class _Current:
    """The utterance whose text the next chunk announces."""

    prepared: PreparedUtterance | None = None
    announced: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the model it names, and its options over that model's."""

    request: SpeechRequest
    model: LocalModel
    options: Resolved
    deadline: Deadline


class Answer:
    """What has been asked, on which model, and how far the sound has come."""

    def __init__(self, asked: Asked, lease: Lease, memory: SoundMemory, *, others: str) -> None:
        self.request = request = asked.request
        self.model = model = asked.model
        self.deadline = asked.deadline
        self.lease = lease
        self.options = options = asked.options.speech
        self._others = others
        self.track = Track(
            self.runner.traits, options, stretch=request.stretch, whole=request.whole
        )
        self.voice = options.voice or ""
        self.started = False
        self.cut_short = False
        self.steps = 0
        self.spoken = 0
        self.text_tokens = 0
        self._offset = 0
        self._others = others
        self._seed = options.seed
        if self._seed is None:
            self._seed = secrets.randbits(62)
        self._current = _Current()
        self.speaker = Voice(self.runner, model, memory, wanted=self._cacheable())

    def _cacheable(self) -> bool:
        if self.options.tone_rate > 0:
            return False  # a paced voice exists to take its time
        if self.options.cache is not None:
            return self.options.cache
        return self.options.seed is not None or self.runner.traits.deterministic

    @property
    def runner(self) -> Runner:
        """The loaded model that speaks this answer."""
        return self.lease.runner

    def script(self, around: tuple[str, str], max_chars: int) -> Script:
        """The request's text as utterances.

        Raises:
            UnspeakableText: The text is whole, and a script in it is not the voice's.
        """
        self._offset = len(around[0])
        text = self.request.text
        if isinstance(text, str) and not text.isascii():
            start = _GREEK.sub("", text[:CHECKED_CHARS])
            self._refuse_unspoken(PreparedUtterance(start, start, "", (), 0, len(start)))
        return Script(self._preparer, text, around, max_chars)

    def _preparer(self) -> Preparer:
        return Preparer(
            self.runner.traits.text_rules,
            language=self.options.language,
            normalize=self.options.normalize,
            latency=self.options.latency,
        )

    async def utterances(
        self, script: Script
    ) -> AsyncIterator[tuple[PreparedUtterance, Utterance]]:
        """Each prepared utterance with what the runner is asked to speak."""
        index = 0
        async for prepared in script.utterances_in_order():
            self._refuse_unspoken(prepared)
            yield prepared, self._utterance(prepared, index)
            index += 1

    def _refuse_unspoken(self, prepared: PreparedUtterance) -> None:
        reason = unspoken([prepared], self.runner.traits.text_rules)
        if reason is not None:
            raise UnspeakableText(f"{reason}; {self._others}")

    def _utterance(self, prepared: PreparedUtterance, index: int) -> Utterance:
        assert self._seed is not None
        if not self.voice:
            self.voice = self._default_voice(prepared.language)
        if self.options.voice != self.voice:
            self.options = replace(self.options, voice=self.voice)
        return Utterance(
            text=prepared.text,
            language=prepared.language,
            options=self.options,
            seed=self._seed,
            index=index,
            request_id=self.request.request_id,
            style=self.model.system if self.request.system is None else self.request.system,
            deadline_s=self.deadline.at_s,
        )

    def _default_voice(self, language: str) -> str:
        """One voice for the whole answer: the first that is at home in its first language."""
        voices = self.runner.traits.voices
        return next((voice.id for voice in voices if voice.language == language), voices[0].id)

    def begin(self, line: Line) -> None:
        """The next utterance begins."""
        denoise = self.options.denoise and self._cloned(line.utterance.options.voice)
        self.track.begin(line.prepared.pause, denoise=denoise)
        self.spoken += 1
        self.text_tokens += self.runner.count(line.prepared.text)
        self._current = _Current(line.prepared, announced=False)

    def _cloned(self, voice: str | None) -> bool:
        return any(known.cloned and known.id == voice for known in self.runner.traits.voices)

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
