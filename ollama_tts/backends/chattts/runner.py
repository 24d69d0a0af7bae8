"""`ChatTTSRunner`: utterances to jobs, jobs to sound."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace

from ollama_tts.backends.base import Memory, Traits
from ollama_tts.backends.chattts.config import SAMPLE_RATE_HZ
from ollama_tts.backends.chattts.length import most_steps
from ollama_tts.backends.chattts.loading import Choice
from ollama_tts.backends.chattts.prompt import RULES, Prompter, RefineLevels, VoicePrompt
from ollama_tts.backends.chattts.silence import TrailingSilence
from ollama_tts.backends.chattts.voices import VoiceBook
from ollama_tts.engine.loop import Engine, EngineStats
from ollama_tts.engine.step_model import GOLDEN64, Geometry, Job, Prompt, Sampling, StepModel, mix64
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.errors import UnspeakableText

REFINE = Sampling(temperature=0.7, top_p=0.7, top_k=20, repeat_penalty=1.0)
REFINE_TOKENS = 384
MIN_ROOM = 32


class ChatTTSRunner:
    """A loaded model. Belongs to the event loop that first speaks with it."""

    def __init__(
        self,
        engine: Engine,
        model: StepModel,
        prompter: Prompter,
        voices: VoiceBook,
        *,
        choice: Choice,
    ) -> None:
        self._engine = engine
        self._geometry: Geometry = model.geometry
        self._weigh = model.memory_bytes
        self._prompter = prompter
        self._voices = voices
        self._choice = choice
        self._share_on_gpu = 1.0 if choice.device.type == "cuda" else 0.0

    @property
    def traits(self) -> Traits:
        """What is true of it as long as it is loaded."""
        return Traits(
            sample_rate_hz=SAMPLE_RATE_HZ,
            step_samples=self._geometry.step_samples,
            text_rules=RULES,
            voices=self._voices.voices,
            native_speed=False,
            deterministic=False,
            gain_db=0.0,
            slots=self._geometry.slots,
            context_length=self._geometry.positions,
            notes=self._choice.notes,
        )

    @property
    def memory(self) -> Memory:
        """What it occupies now."""
        total = self._weigh()
        return Memory(total, int(total * self._share_on_gpu))

    @property
    def stats(self) -> EngineStats:
        """What the engine is doing now."""
        return self._engine.stats

    def count(self, text: str) -> int:
        """Text tokens in `text`."""
        return self._prompter.count(text)

    def check(self, utterance: Utterance) -> None:
        """Refuse at once what `speak` could not speak.

        Raises:
            InvalidOption: No such voice; the text says which there are.
            UnspeakableText: Nothing to say, or more than the context holds.
        """
        self._prompt(utterance, utterance.text, self._voices.find(utterance.options.voice))

    async def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The sound of one utterance, piece by piece; see `Runner.speak`.

        Raises:
            InvalidRequest: The utterance cannot be spoken by this voice.
            OutOfMemory: Not even alone.
            GenerationFailed: This utterance failed; others did not.
            EngineDead: The model must be loaded anew.
        """
        voice = self._voices.find(utterance.options.voice)
        levels = RefineLevels.asked(utterance.options)
        text = await self._refined(utterance, levels) if levels else utterance.text
        job = self._job(utterance, self._prompt(utterance, text, voice), self.count(text))
        silence, steps = TrailingSilence(SAMPLE_RATE_HZ), 0
        async with contextlib.aclosing(self._engine.speak(job, utterance)) as pieces:
            async for piece in pieces:
                samples, steps = silence.feed(piece.samples), steps + piece.steps
                if len(samples) or piece.finish is not None:
                    yield replace(piece, samples=samples, steps=steps)
                    steps = 0

    async def close(self) -> None:
        """Give the memory back; running utterances fail with `EngineDead`."""
        await self._engine.close()

    def _prompt(self, utterance: Utterance, text: str, voice: VoicePrompt) -> Prompt:
        self._prompter.check(text, utterance.language)
        prompt = self._prompter.speech(text, utterance.language, voice)
        most = self._geometry.positions - MIN_ROOM
        if len(prompt) > most:
            raise UnspeakableText(
                f"the text and voice take {len(prompt)} tokens; with num_ctx "
                f"{self._geometry.positions} there is room for {most}"
            )
        return prompt

    def _job(self, utterance: Utterance, prompt: Prompt, text_tokens: int) -> Job:
        """What to draw for an utterance, and how much at most."""
        options = utterance.options
        room = self._geometry.positions - len(prompt)
        most = min(room, most_steps(options.num_predict, text_tokens, self._geometry.step_samples))
        sampling = Sampling(
            options.temperature, options.top_p, options.top_k, options.repeat_penalty
        )
        return Job(
            prompt,
            sampling,
            seed=mix64(utterance.seed),
            max_tokens=most,
            min_tokens=min(options.min_predict, most),
        )

    async def _refined(self, utterance: Utterance, levels: RefineLevels) -> str:
        """The text as the refine stage writes it; the text itself where it writes nothing."""
        prompt = self._prompter.refine(utterance.text, utterance.language, levels)
        most = min(REFINE_TOKENS, self._geometry.positions - len(prompt))
        if most < 1:
            return utterance.text
        seed = mix64(utterance.seed + GOLDEN64)
        ids = await self._engine.write(Job(prompt, REFINE, seed, most, kind="text"), utterance)
        return self._prompter.refined(ids) or utterance.text
