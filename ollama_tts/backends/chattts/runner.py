"""`ChatTTSRunner`: utterances to jobs, jobs to sound."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ollama_tts.backends.base import Memory, Traits
from ollama_tts.backends.chattts.config import SAMPLE_RATE_HZ
from ollama_tts.backends.chattts.length import most_steps
from ollama_tts.backends.chattts.loading import Choice
from ollama_tts.backends.chattts.lora import LaidLora, read_lora
from ollama_tts.backends.chattts.lora_files import lora_names
from ollama_tts.backends.chattts.memory import guarded
from ollama_tts.backends.chattts.prompt import RULES, Prompter, RefineLevels, VoicePrompt
from ollama_tts.backends.chattts.recording import RecordingEncoder
from ollama_tts.backends.chattts.silence import TrailingSilence
from ollama_tts.backends.chattts.voices import VoiceBook
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.loop import Engine, EngineStats
from ollama_tts.engine.step_model import GOLDEN64, Geometry, Job, Prompt, Sampling, StepModel, mix64
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.errors import UnspeakableText
from ollama_tts.store.model import LocalModel

REFINE = Sampling(temperature=0.7, top_p=0.7, top_k=20, repeat_penalty=1.0)
REFINE_TOKENS = 384
MIN_ROOM = 32


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """What all that speak on one loaded model share. `merged`: a LoRA is part of the weights."""

    engine: Engine
    model: StepModel
    prompter: Prompter
    checkpoint: Checkpoint
    choice: Choice
    merged: bool = False


def voice_book(checkpoint: Checkpoint, adapters: Mapping[str, Path]) -> VoiceBook:
    """The voices of a checkpoint and of those adapters that are no LoRA; encodes recordings.

    Raises:
        InvalidWeights: An adapter holds no voice.
    """
    lora = lora_names(adapters)
    voices = {name: path for name, path in adapters.items() if name not in lora}
    encode = RecordingEncoder(checkpoint)
    return VoiceBook(checkpoint.config, checkpoint.speakers(), voices, encode)


def laid_lora(
    checkpoint: Checkpoint, adapters: Mapping[str, Path], choice: Choice
) -> LaidLora | None:
    """The LoRA among adapters, ready to be laid over the weights; None where there is none.

    Raises:
        InvalidWeights: It is damaged, or for another model.
        OutOfMemory: There is no room for it.
    """
    lora = read_lora(adapters, checkpoint.config)
    if lora is None:
        return None
    with guarded("laying a LoRA over the model"):
        devices = choice.devices(checkpoint.config.gpt.num_hidden_layers)
        return LaidLora(lora, devices, choice.compute)


class ChatTTSRunner:
    """A loaded model with one set of adapters. Belongs to the event loop that first speaks on it.

    Args:
        body: What it shares with others.
        voices: Who can speak.
        lora: What is laid over the weights for its utterances alone.
        guest: It is one of those others: it lives on the body, and does not end it.
    """

    def __init__(
        self, body: Body, voices: VoiceBook, lora: LaidLora | None = None, *, guest: bool = False
    ) -> None:
        self._body = body
        self._engine = body.engine
        self._geometry: Geometry = body.model.geometry
        self._prompter = body.prompter
        self._voices = voices
        self._lora = lora
        self._guest = guest
        self._share_on_gpu = 1.0 if body.choice.device.type == "cuda" else 0.0

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
            notes=self._body.choice.notes | self._lora_note(),
        )

    @property
    def memory(self) -> Memory:
        """What it occupies now; for a guest, what it adds to the model that it speaks on."""
        total = 0 if self._guest else self._body.model.memory_bytes()
        total += self._lora.nbytes if self._lora is not None else 0
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

    def host(self, model: LocalModel) -> "ChatTTSRunner":
        """What `model`, of the same weights, speaks with; see `Hosting.host`.

        Raises:
            InvalidWeights: An adapter is damaged, or for another model.
            OutOfMemory: There is no room for it.
        """
        body = self._body
        laid = None
        if not body.merged:
            laid = laid_lora(body.checkpoint, model.adapters, body.choice)
        voices = voice_book(body.checkpoint, model.adapters)
        return ChatTTSRunner(body, voices, laid, guest=True)

    async def close(self) -> None:
        """Give the memory back; running utterances fail with `EngineDead`."""
        if not self._guest:
            await self._engine.close()

    def _lora_note(self) -> dict[str, str]:
        if self._body.merged:
            return {"lora": "merged"}
        return {"lora": "laid over"} if self._lora is not None else {}

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
            adapter=self._lora,
        )

    async def _refined(self, utterance: Utterance, levels: RefineLevels) -> str:
        """The text as the refine stage writes it; the text itself where it writes nothing."""
        prompt = self._prompter.refine(utterance.text, utterance.language, levels)
        most = min(REFINE_TOKENS, self._geometry.positions - len(prompt))
        if most < 1:
            return utterance.text
        seed = mix64(utterance.seed + GOLDEN64)
        job = Job(prompt, REFINE, seed, most, kind="text", adapter=self._lora)
        ids = await self._engine.write(job, utterance)
        return self._prompter.refined(ids) or utterance.text
