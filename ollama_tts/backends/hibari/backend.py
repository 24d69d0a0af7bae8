"""hibari: English on the CPU, weights in the wheel; one loaded voice, one thread.

`N` samples, float32 mono at 24 kHz.
"""

from collections.abc import AsyncGenerator, Generator, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.base import Memory, Traits
from ollama_tts.backends.hibari.package import VOICES
from ollama_tts.backends.hibari.text import refusal, speakable
from ollama_tts.backends.hibari.voice import LONGEST_PHONEMES, SAMPLE_RATE_HZ, EnglishVoice
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.engine.worker import Worker
from ollama_tts.errors import InvalidOption, UnspeakableText
from ollama_tts.options import LoadOptions
from ollama_tts.store.model import LocalModel
from ollama_tts.text.rules import TextRules

FRAME_SAMPLES = SAMPLE_RATE_HZ // 50
MEMORY = Memory(total_bytes=160 * 1024**2)  # measured: what a process grows by when it loads
SLOTS = 16

_PIECES_SAMPLES = (2_400, 2_400, 4_800, 9_600)  # 0.1 s at first, then growing; the last repeats


class HibariBackend:
    """Loads the voice in the wheel. Needs no files and never the network."""

    def estimate(self, model: LocalModel, options: LoadOptions) -> Memory:
        """What a loaded voice occupies, whatever the options."""
        del model, options
        return MEMORY

    def load(self, model: LocalModel, options: LoadOptions) -> "HibariRunner":
        """The voice, warmed up: its first request is as quick as any other.

        `num_thread` unset means one: a sentence is made 100 times faster than it is heard.

        Raises:
            LoadFailed: The installed package does not work as expected.
        """
        del model
        return HibariRunner(EnglishVoice(threads=options.num_thread or 1))


class HibariRunner:
    """The loaded voice. Sentences are made whole and leave in pieces."""

    def __init__(self, voice: EnglishVoice) -> None:
        self._voice = voice
        self._worker = Worker(self._say, name="hibari")

    @property
    def traits(self) -> Traits:
        """24 kHz; +6 dB brings its -26 LUFS to the common level, its peaks (0.47) to 0.93."""
        return Traits(
            sample_rate_hz=SAMPLE_RATE_HZ,
            step_samples=FRAME_SAMPLES,
            text_rules=TextRules(languages=("en",), max_chars=250, min_chars=4),
            voices=VOICES,
            native_speed=True,
            deterministic=False,
            gain_db=6.0,
            slots=SLOTS,
            context_length=LONGEST_PHONEMES,
            notes={"quantization": "int8"},
        )

    @property
    def memory(self) -> Memory:
        """A constant: the voice does not grow."""
        return MEMORY

    def count(self, text: str) -> int:
        """Characters."""
        return len(text)

    def check(self, utterance: Utterance) -> None:
        """Refuse an unknown voice, another language and letters of other scripts.

        Raises:
            InvalidOption: The voice is not in the wheel.
            UnspeakableText: The text is not English; the message names voices that can say it.
        """
        voice = utterance.options.voice
        if voice is not None and voice.strip().lower() not in {v.id for v in VOICES}:
            known = ", ".join(v.id for v in VOICES)
            raise InvalidOption(f"option 'voice' must be one of {known}, not {voice!r}")
        if utterance.options.language in {"zh", "ja"}:
            raise refusal(utterance.text)
        speakable(utterance.text)

    def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The sound in pieces of 0.1 s and more; see `Runner.speak`.

        Raises:
            InvalidRequest: As `check`, or nothing but punctuation.
            GenerationFailed: The package failed on this text.
            EngineDead: The voice was unloaded.
        """
        return self._worker.speak(utterance)

    async def close(self) -> None:
        """End the thread; running utterances fail with `EngineDead`."""
        await self._worker.close()

    def _say(self, utterance: Utterance) -> Generator[Piece, None, None]:
        self.check(utterance)
        sound = self._voice.say(utterance.text, speed=utterance.options.speed, seed=utterance.seed)
        kept: NDArray[np.float32] | None = None
        for samples in in_pieces(sound):
            if kept is not None:
                yield Piece(kept, steps=-(-len(kept) // FRAME_SAMPLES))
            kept = samples
        if kept is None:
            raise UnspeakableText(f"hibari finds nothing to say in {utterance.text[:80]!r}")
        yield Piece(kept, steps=-(-len(kept) // FRAME_SAMPLES), finish="stop")


def in_pieces(sound: Iterable[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
    """`sound` (float32 [N] each) in order, in pieces of 0.1 s, 0.1 s, 0.2 s, then 0.4 s."""
    made = 0
    for samples in sound:
        start = 0
        while start < len(samples):
            size = _PIECES_SAMPLES[min(made, len(_PIECES_SAMPLES) - 1)]
            yield samples[start : start + size]
            start += size
            made += 1
