"""tone: the diagnostic voice. No weights; what it says can be read back from the sound.

Tests of load, order, mix-ups, cancel and pace use it. `tone_rate` paces the sound, `tone_load_s`
pretends a long load.
"""

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncGenerator

import numpy as np

from ollama_tts.backends.base import Memory, Traits
from ollama_tts.backends.tone.chords import SAMPLE_RATE_HZ, chord
from ollama_tts.backends.tone.package import VOICES
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.errors import Cancelled, EngineDead, InvalidOption, UnspeakableText
from ollama_tts.options import LoadOptions
from ollama_tts.store.model import LocalModel
from ollama_tts.text.rules import TextRules

FRAME_SAMPLES = SAMPLE_RATE_HZ // 50
MEMORY = Memory(total_bytes=1024**2)
SLOTS = 16
PIECE_CHARACTERS = 5  # 0.2 s at speed 1
KEPT_CHORDS = 512  # 4 KB each at speed 1


class ToneBackend:
    """Loads the voice, after `tone_load_s` seconds that can be interrupted."""

    def estimate(self, model: LocalModel, options: LoadOptions) -> Memory:
        """Next to nothing."""
        del model, options
        return MEMORY

    def load(self, model: LocalModel, options: LoadOptions) -> "ToneRunner":
        """The voice, `tone_load_s` later."""
        return self.load_until(model, options, threading.Event())

    def load_until(
        self, model: LocalModel, options: LoadOptions, stop: threading.Event
    ) -> "ToneRunner":
        """The voice, `tone_load_s` later.

        Raises:
            Cancelled: `stop` was set first.
        """
        del model
        if stop.wait(options.tone_load_s):
            raise Cancelled("the load was interrupted")
        return ToneRunner(slots=options.num_batch or SLOTS)


class ToneRunner:
    """The loaded voice. `slots`: how many utterances at once it claims to speak."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._closed = asyncio.Event()
        self._chord = functools.lru_cache(KEPT_CHORDS)(chord)
        self._traits = _traits(slots)

    @property
    def traits(self) -> Traits:
        """24 kHz; any text as it stands; the same text is always the same sound."""
        return self._traits

    @property
    def memory(self) -> Memory:
        """Next to nothing."""
        return MEMORY

    def count(self, text: str) -> int:
        """Characters."""
        return len(text)

    def check(self, utterance: Utterance) -> None:
        """Refuse an unknown voice.

        Raises:
            InvalidOption: The voice is not `tone`.
        """
        voice = utterance.options.voice
        if voice is not None and voice.strip().lower() != VOICES[0].id:
            raise InvalidOption(f"option 'voice' must be one of tone, not {voice!r}")

    async def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """A chord of 40 ms a character, in pieces of five; see `Runner.speak`.

        Raises:
            InvalidOption: The voice is not `tone`.
            UnspeakableText: The text is empty.
            EngineDead: The voice was unloaded.
        """
        self.check(utterance)
        if not utterance.text:
            raise UnspeakableText("tone finds nothing to say in an empty text")
        options = utterance.options
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        for start in range(0, len(utterance.text), PIECE_CHARACTERS):
            chars = utterance.text[start : start + PIECE_CHARACTERS]
            samples = np.concatenate([self._chord(char, options.speed) for char in chars])
            due_s += options.tone_rate * len(samples) / SAMPLE_RATE_HZ
            await self._pause(due_s - loop.time())
            last = start + PIECE_CHARACTERS >= len(utterance.text)
            yield Piece(samples, _frames(len(samples)), "stop" if last else None)

    async def _pause(self, pause_s: float) -> None:
        """Wait that long, and give way to others at least once.

        Raises:
            EngineDead: The voice was unloaded meanwhile.
        """
        await asyncio.sleep(0)
        if pause_s > 0 and not self._closed.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), pause_s)
        if self._closed.is_set():
            raise EngineDead("the model was unloaded while it spoke")

    async def close(self) -> None:
        """Running utterances fail with `EngineDead`."""
        self._closed.set()


def _traits(slots: int) -> Traits:
    return Traits(
        sample_rate_hz=SAMPLE_RATE_HZ,
        step_samples=FRAME_SAMPLES,
        text_rules=TextRules(
            languages=("en", "zh", "ja"),
            max_chars=250,
            min_chars=1,
            alphabet="any",
            reads_numbers=True,
        ),
        voices=VOICES,
        native_speed=True,
        deterministic=True,
        gain_db=0.0,
        slots=slots,
        context_length=250,
        notes={},
    )


def _frames(samples: int) -> int:
    return -(-samples // FRAME_SAMPLES)
