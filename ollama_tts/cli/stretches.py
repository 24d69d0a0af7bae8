"""Text that is still being written, spoken by one that takes whole texts.

The text is cut after complete utterances. While one stretch is spoken, what becomes complete is
gathered for the next request; the sound of all is joined into one file here.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ollama_tts.audio.encode import make_encoder, supported_rate_hz
from ollama_tts.audio.resample import Resampler
from ollama_tts.audio.stitch import Stitcher, pause_ms
from ollama_tts.cli.job import Job
from ollama_tts.client import SpeechChunk, SpeechEnd
from ollama_tts.errors import UnspeakableText
from ollama_tts.options import resolve
from ollama_tts.text.account import Pause, PreparedUtterance
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import TextRules

Ask = Callable[[str, Mapping[str, object]], AsyncGenerator[SpeechChunk | SpeechEnd]]

# Cuts for any model: what a stretch really sounds like is decided by the server.
_RULES = TextRules(languages=("en", "zh", "ja"), alphabet="any", reads_numbers=True)


async def joined(
    job: Job, parts: AsyncIterator[str], ask: Ask
) -> AsyncGenerator[SpeechChunk | SpeechEnd]:
    """The job's one file of all that `parts` say; an empty part ends an utterance at once.

    `ask` speaks one stretch with the options that it is given.

    Raises:
        UnspeakableText: The parts held nothing that can be spoken.
        OllamaTTSError: As `ask`.
    """
    file = _File(job)
    gathering = _Gathering(parts, file.language)
    reader = asyncio.create_task(gathering.read())
    try:
        while (stretch := await gathering.take(reader)) is not None:
            async with aclosing(ask(stretch.text, file.asked)) as events:
                async for event in events:
                    for chunk in file.take(event):
                        yield chunk
            for chunk in file.close_stretch(stretch.pause):
                yield chunk
        for event in file.finish():
            yield event
    finally:
        reader.cancel()
        await asyncio.wait([reader])


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Complete utterances as they were written, and the pause that follows them."""

    text: str
    pause: Pause


class _Gathering:
    """Cuts text as it comes; `take` gives all that is complete by then."""

    def __init__(self, parts: AsyncIterator[str], language: str) -> None:
        self._parts = parts
        self._language = language
        self._preparer = self._fresh()
        self._text = ""  # what no stretch holds yet
        self._start = 0  # of `_text` in what the preparer has been given
        self._ready: deque[_Stretch] = deque()
        self._news = asyncio.Event()
        self._ended = False

    async def read(self) -> None:
        """Read the parts to their end."""
        try:
            async for part in self._parts:
                if part:
                    self._text += part
                    self._cut(self._preparer.feed(part))
                else:
                    self._close()
            self._close()
        finally:
            self._ended = True
            self._news.set()

    async def take(self, reader: asyncio.Task[None]) -> _Stretch | None:
        """What is complete now, or the next that will be; None at the end of the text."""
        while not self._ready:
            if self._ended:
                await reader
                return None
            self._news.clear()
            await self._news.wait()
        stretch = _Stretch("".join(s.text for s in self._ready), self._ready[-1].pause)
        self._ready.clear()
        return stretch

    def _fresh(self) -> Preparer:
        return Preparer(_RULES, language=self._language, normalize=False)

    def _close(self) -> None:
        """What was written ends here, complete or not; what cannot be spoken is left out."""
        self._cut(self._preparer.finish())
        self._preparer = self._fresh()
        self._text, self._start = "", 0

    def _cut(self, utterances: list[PreparedUtterance]) -> None:
        for utterance in utterances:
            size = utterance.end - self._start
            self._ready.append(_Stretch(self._text[:size], utterance.pause))
            self._text = self._text[size:]
            self._start = utterance.end
        if utterances:
            self._news.set()


class _File:
    """The sound of all stretches, as one file in the making."""

    def __init__(self, job: Job) -> None:
        speech = resolve(job.options).speech
        self.language = speech.language
        self.asked = {**job.options, "audio_format": "pcm"}
        self.asked.pop("format", None)
        self._format = speech.audio_format
        self._whole = job.whole
        self._pause_ms = speech.pause_ms
        self._voice: _Voice | None = None
        self._fresh = True
        self._samples = 0
        self._owed_ms = 0
        self._ends: list[SpeechEnd] = []

    def take(self, event: SpeechChunk | SpeechEnd) -> Iterator[SpeechChunk]:
        """One event of a stretch; gives what of the file it makes available."""
        if isinstance(event, SpeechEnd):
            self._ends.append(event)
            return
        if self._voice is None:
            self._voice = _Voice(event.sample_rate_hz, self._format, whole=self._whole)
        if self._fresh:
            self._voice.stitcher.begin(self._owed_ms)
            self._fresh = False
        samples = np.frombuffer(event.data, "<i2").astype(np.float32) / np.float32(32767)
        yield self._chunk(self._voice.stitcher.feed(samples), event.text)

    def close_stretch(self, pause: Pause) -> Iterator[SpeechChunk]:
        """The stretch is over, `pause` follows."""
        self._owed_ms = pause_ms(pause, self._pause_ms)
        self._fresh = True
        if self._voice is not None:
            yield self._chunk(self._voice.stitcher.end(), "")

    def finish(self) -> Iterator[SpeechChunk | SpeechEnd]:
        """The file's last bytes, and the figures of all stretches.

        Raises:
            UnspeakableText: There was no stretch.
        """
        if self._voice is None:
            raise UnspeakableText("standard input held nothing that can be spoken")
        yield replace(self._chunk(_NOTHING, ""), data=self._voice.finish())
        yield self._end(self._voice)

    def _chunk(self, samples: NDArray[np.float32], text: str) -> SpeechChunk:
        assert self._voice is not None
        start_s = self._samples / self._voice.stitched_hz
        self._samples += len(samples)
        return SpeechChunk(
            self._voice.encode(samples),
            self._voice.encoder.mime_type,
            self._voice.encoder.sample_rate_hz,
            start_s,
            len(samples) / self._voice.stitched_hz,
            text,
        )

    def _end(self, voice: "_Voice") -> SpeechEnd:
        first, *_ = self._ends
        return replace(
            self._ends[-1],
            mime_type=voice.encoder.mime_type,
            sample_rate_hz=voice.encoder.sample_rate_hz,
            duration_s=self._samples / voice.stitched_hz,
            utterances=sum(end.utterances for end in self._ends),
            cache_hits=sum(end.cache_hits for end in self._ends),
            first_audio_ms=first.first_audio_ms,
            total_ns=sum(end.total_ns for end in self._ends),
            load_ns=sum(end.load_ns for end in self._ends),
            prompt_eval_count=sum(end.prompt_eval_count for end in self._ends),
            prompt_eval_ns=sum(end.prompt_eval_ns for end in self._ends),
            eval_count=sum(end.eval_count for end in self._ends),
            eval_ns=sum(end.eval_ns for end in self._ends),
        )


class _Voice:
    """What turns the samples of one voice into the bytes of the file."""

    def __init__(self, sample_rate_hz: int, audio_format: str, *, whole: bool) -> None:
        rate_hz = supported_rate_hz(audio_format, sample_rate_hz)
        self.stitched_hz = sample_rate_hz
        self.stitcher = Stitcher(sample_rate_hz)
        self.encoder = make_encoder(audio_format, rate_hz, whole=whole)
        self._resampler = Resampler(sample_rate_hz, rate_hz)

    def encode(self, samples: NDArray[np.float32]) -> bytes:
        """Float32 [N] of stitched sound as bytes of the file."""
        return self.encoder.feed(self._resampler.feed(samples))

    def finish(self) -> bytes:
        """The rest of the file."""
        return self.encoder.feed(self._resampler.finish()) + self.encoder.finish()


_NOTHING = np.zeros(0, np.float32)
