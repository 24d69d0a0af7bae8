"""`Voice`: one loaded model with the audio cache before it.

Sound that is determined (a fixed seed, or a voice that always says a text the same way) is kept
and shared; the option `cache` overrides. What is kept is the voice's own sound, so one entry
serves every format, sample rate, gain and pause.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import numpy as np

from ollama_tts.backends.base import Runner
from ollama_tts.cache import Flights, Sound, SoundCache, sound_key
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.metrics import Metrics
from ollama_tts.options import SpeechOptions, audible
from ollama_tts.store.model import LocalModel

FIRST_PIECE_S = 0.25
PIECE_S = 2.0
"""Kept sound is replayed in large pieces; only an answer's first is short, to leave at once."""

_AFTER_THE_VOICE = frozenset(
    {"audio_format", "sample_rate", "gain_db", "denoise", "pause_ms", "seed"}
)


class SoundMemory:
    """The cache of a node: kept sounds, and sounds in flight."""

    def __init__(self, cache: SoundCache | None, metrics: Metrics) -> None:
        self.cache = cache
        self.flights: Flights[Piece] = Flights()
        self.metrics = metrics


class Voice:
    """Speaks the utterances of one answer; `hits` counts those that came from the cache."""

    def __init__(
        self, runner: Runner, model: LocalModel, memory: SoundMemory, *, wanted: bool
    ) -> None:
        self._runner = runner
        self._model = model
        self._memory = memory
        self._wanted = wanted
        self._heard_of: SpeechOptions | None = None
        self._heard_parts: dict[str, object] = {}
        self.hits = 0

    def check(self, utterance: Utterance) -> None:
        """Refuse what the model could not speak; see `Runner.check`."""
        self._runner.check(utterance)

    async def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The pieces of one utterance, from the cache, from another's speaking, or fresh."""
        cache = self._memory.cache
        if cache is None or not self._wanted:
            self._memory.metrics.cache("off")
            async with aclosing(self._fresh(utterance)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        key = self._key(utterance)
        kept = await cache.get(key)
        shared = self._flight(key) in self._memory.flights
        self.hits += kept is not None or shared
        self._memory.metrics.cache("hit" if kept is not None or shared else "miss")
        source = (
            self._replay(kept, utterance)
            if kept is not None
            else self._share(key, utterance, cache)
        )
        async with aclosing(source) as pieces:
            async for piece in pieces:
                yield piece

    def _share(
        self, key: str, utterance: Utterance, cache: SoundCache
    ) -> AsyncGenerator[Piece, None]:
        """Speak, or listen to who speaks it already; whose deadline it was must not end it."""
        everyones = replace(utterance, deadline_s=None)
        return self._memory.flights.join(
            self._flight(key),
            lambda: self._fresh(everyones),
            lambda pieces: _keep(cache, key, self._model.digest.hex, pieces),
        )

    def _flight(self, key: str) -> str:
        """Listeners share a loaded model, too: it is theirs as long as they listen."""
        return f"{key}@{id(self._runner):x}"

    async def _fresh(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """Sound that is computed now: only its codec steps count as spoken."""
        async with aclosing(self._runner.speak(utterance)) as pieces:
            async for piece in pieces:
                self._memory.metrics.computed(piece.steps)
                yield piece

    async def _replay(self, sound: Sound, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        rate_hz = self._runner.traits.sample_rate_hz
        size = int((PIECE_S if utterance.index else FIRST_PIECE_S) * rate_hz)
        start = 0
        while start + size < len(sound.samples):
            yield Piece(sound.samples[start : start + size], 0)
            start += size
            size = int(PIECE_S * rate_hz)
        yield Piece(sound.samples[start:], sound.steps, "stop")

    def _key(self, utterance: Utterance) -> str:
        unset = utterance.options.seed is None  # then any take will do, and `cache` asked for it
        fixed = unset or self._runner.traits.deterministic
        return sound_key(
            {
                "text": utterance.text,
                "language": utterance.language,
                "style": utterance.style,
                "seed": None if fixed else utterance.seed,
                "index": 0 if fixed else utterance.index,
                **self._heard(utterance.options),
            }
        )

    def _heard(self, options: SpeechOptions) -> dict[str, object]:
        """What of a key is the same for all utterances with these options."""
        if self._heard_of is not options:
            self._heard_of = options
            self._heard_parts = {
                "model": str(self._model.digest),
                "loaded": dict(self._runner.traits.notes),
                **{
                    name: value
                    for name, value in audible(options).items()
                    if name not in _AFTER_THE_VOICE
                },
            }
        return self._heard_parts


def _keep(cache: SoundCache, key: str, model: str, pieces: list[Piece]) -> None:
    """Keep what ended by itself; an utterance that hit its limit is not worth repeating."""
    if pieces and pieces[-1].finish == "stop":
        samples = np.concatenate([piece.samples for piece in pieces]).astype(np.float32)
        cache.put(key, Sound(samples, sum(piece.steps for piece in pieces), model))
