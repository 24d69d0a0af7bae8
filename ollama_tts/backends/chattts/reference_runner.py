"""`ReferenceRunner`: upstream ChatTTS and vocos behind a `Runner`, one utterance at a time.

Nothing is made faster or better here, its known faults included: samples under 1e-5 are dropped,
pieces of a stream come from different decodes.
"""

from collections.abc import AsyncGenerator, Generator, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ollama_tts.backends.base import Memory, Traits
from ollama_tts.backends.chattts.config import SAMPLE_RATE_HZ
from ollama_tts.backends.chattts.length import most_steps
from ollama_tts.backends.chattts.prompt import RULES, Prompter, RefineLevels
from ollama_tts.backends.chattts.reference import Chat, load_chat, quiet
from ollama_tts.backends.chattts.sampler import MIN_TEMPERATURE
from ollama_tts.backends.chattts.speaker import encode_codes
from ollama_tts.backends.chattts.voices import VoiceBook
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import attempt_seed
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.engine.worker import Worker
from ollama_tts.errors import GenerationFailed

ATTEMPTS = 3


class ReferenceRunner:
    """Upstream with one checkpoint on one device."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        prompter: Prompter,
        voices: VoiceBook,
        device: torch.device,
    ) -> None:
        self._chat: Chat = load_chat(checkpoint.files, checkpoint.config, device)
        self._prompter, self._voices, self._device = prompter, voices, device
        self._config = checkpoint.config
        parts = (self._chat.gpt, self._chat.embed, self._chat.decoder, self._chat.dvae,
                 self._chat.vocos)  # fmt: skip
        self._bytes = sum(p.nbytes for part in parts for p in part.parameters())
        self._worker = Worker(self._say, name="reference")

    @property
    def traits(self) -> Traits:
        """What is true of it as long as it is loaded."""
        return Traits(
            sample_rate_hz=SAMPLE_RATE_HZ,
            step_samples=self._config.step_samples,
            text_rules=RULES,
            voices=self._voices.voices,
            native_speed=False,
            deterministic=False,
            gain_db=0.0,
            slots=1,
            context_length=self._config.gpt.max_position_embeddings,
            notes={
                "backend": "reference",
                "quantization": "fp32",
                "device": self._device.type,
                "compile": "off",
            },
        )

    @property
    def memory(self) -> Memory:
        """The weights; what upstream takes beside them while it speaks is not known here."""
        return Memory(self._bytes, self._bytes if self._device.type == "cuda" else 0)

    def count(self, text: str) -> int:
        """Text tokens in `text`."""
        return self._prompter.count(text)

    def check(self, utterance: Utterance) -> None:
        """Refuse at once what `speak` could not speak.

        Raises:
            InvalidOption: No such voice; the text says which there are.
            UnspeakableText: Nothing to say.
        """
        self._voices.find(utterance.options.voice)
        self._prompter.check(utterance.text, utterance.language)

    async def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The sound of one utterance, piece by piece; see `Runner.speak`.

        Raises:
            InvalidRequest: The utterance cannot be spoken by this voice.
            OutOfMemory: There is no memory for it.
            GenerationFailed: Upstream failed.
            EngineDead: The model was unloaded.
        """
        self.check(utterance)
        async for piece in self._worker.speak(utterance):
            yield piece

    async def close(self) -> None:
        """Give the memory back; running utterances fail with `EngineDead`."""
        await self._worker.close()
        self._chat.unload()

    def _say(self, utterance: Utterance) -> Generator[Piece, None, None]:
        """One utterance in the worker's thread; upstream's last piece is often empty.

        Raises:
            GenerationFailed: The end token came at once, three times.
        """
        for attempt in range(ATTEMPTS):
            held: NDArray[np.float32] | None = None
            for samples in self._sound(utterance, attempt):
                if held is not None:
                    yield self._piece(held)
                held = samples
            if held is not None:
                yield Piece(held, self._piece(held).steps, "stop")
                return
        raise GenerationFailed(f"the model ended at once, {ATTEMPTS} times")

    def _piece(self, samples: NDArray[np.float32]) -> Piece:
        return Piece(samples, -(-len(samples) // self._config.step_samples))

    def _sound(self, utterance: Utterance, attempt: int) -> Iterator[NDArray[np.float32]]:
        """Upstream's stream, as float32 [n] pieces; none where the end token came at once."""
        text = self._prompter.readable(utterance.text, utterance.language)
        levels = RefineLevels.asked(utterance.options)
        stream = self._chat.infer(
            [text],
            stream=True,
            skip_refine_text=levels is None,
            do_text_normalization=False,
            do_homophone_replacement=False,
            split_text=False,
            params_refine_text=self._chat.RefineTextParams(
                prompt=levels.prompt if levels else "", show_tqdm=False, manual_seed=utterance.seed
            ),
            params_infer_code=self._params(utterance, attempt),
        )
        while True:
            try:
                with quiet():
                    piece = next(stream, None)
            except UnboundLocalError:
                return
            if piece is None:
                return
            yield np.asarray(piece[0], np.float32)

    def _params(self, utterance: Utterance, attempt: int) -> object:
        options = utterance.options
        voice = self._voices.find(options.voice)
        tokens = self.count(utterance.text)
        return self._chat.InferCodeParams(
            spk_emb=None if voice.vector is None else torch.from_numpy(voice.vector),
            spk_smp=None if voice.codes is None else encode_codes(voice.codes),
            txt_smp=voice.said,
            temperature=max(options.temperature, MIN_TEMPERATURE),
            top_P=options.top_p,
            top_K=options.top_k or None,
            repetition_penalty=options.repeat_penalty,
            max_new_token=most_steps(options.num_predict, tokens, self._config.step_samples),
            min_new_token=options.min_predict,
            show_tqdm=False,
            manual_seed=attempt_seed(utterance.seed, attempt),
        )
