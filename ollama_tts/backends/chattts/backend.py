"""`ChatTTSBackend`: loads ChatTTS models; its runner speaks many utterances at once."""

import logging
import time

import torch

from ollama_tts.backends.base import Memory
from ollama_tts.backends.chattts import loading
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.estimate import estimate, estimate_reference, fitted
from ollama_tts.backends.chattts.prompt import Prompter
from ollama_tts.backends.chattts.recording import RecordingEncoder
from ollama_tts.backends.chattts.reference_runner import ReferenceRunner
from ollama_tts.backends.chattts.runner import ChatTTSRunner
from ollama_tts.backends.chattts.self_test import self_test
from ollama_tts.backends.chattts.step_model import TorchStepModel
from ollama_tts.backends.chattts.voices import VoiceBook
from ollama_tts.backends.chattts.weights import Checkpoint, read_config
from ollama_tts.engine.loop import Engine
from ollama_tts.engine.step_model import StepModel
from ollama_tts.errors import InvalidWeights
from ollama_tts.options import LoadOptions
from ollama_tts.store.model import LocalModel

logger = logging.getLogger(__name__)


class ChatTTSBackend:
    """Loads models of format `chattts`."""

    def estimate(self, model: LocalModel, options: LoadOptions) -> Memory:
        """What loading would occupy, by the sizes in the model's config.

        Raises:
            InvalidWeights: The config is damaged.
            LoadFailed: The GPU that was asked for is not there.
            Unsupported: The backend that was asked for cannot do this.
        """
        config = read_config(model.files)
        if options.backend == "reference":
            return estimate_reference(config, loading.device_of(options))
        return estimate(config, _choose(config, options))

    def load(self, model: LocalModel, options: LoadOptions) -> ChatTTSRunner | ReferenceRunner:
        """Load and warm up. Blocks; called in a worker thread.

        Raises:
            LoadFailed: The files are there but could not be loaded, or the self-test failed.
            InvalidWeights: A file is damaged or does not fit the others.
            OutOfMemory: It does not fit.
            Unsupported: The backend that was asked for cannot do this.
        """
        began_s = time.monotonic()
        checkpoint = Checkpoint(model.files)
        config = checkpoint.config
        prompter = Prompter(checkpoint.tokenizer, config.gpt.num_vq)
        if prompter.vocabulary > config.gpt.num_text_tokens:
            raise InvalidWeights(
                f"the tokenizer has {prompter.vocabulary} entries, "
                f"the model {config.gpt.num_text_tokens}"
            )
        voices = VoiceBook(
            config, checkpoint.speakers(), model.adapters, RecordingEncoder(checkpoint)
        )
        if options.backend == "reference":
            return ReferenceRunner(checkpoint, prompter, voices, loading.device_of(options))
        choice = _choose(config, options)
        logger.info("loading %s: %s", model.name.short, choice.notes)
        step_model = loading.build(checkpoint, choice, text_end=prompter.refine_end)
        logger.info("loading %s: warming up", model.name.short)
        _warm_up(step_model, prompter, choice)
        logger.info("loaded %s in %.1f s", model.name.short, time.monotonic() - began_s)
        engine = Engine(step_model, name=model.name.short)
        return ChatTTSRunner(engine, step_model, prompter, voices, choice=choice)


def _choose(config: ChatTTSConfig, options: LoadOptions) -> loading.Choice:
    """Where and how to run, with as many slots as a GPU has room for unless told how many."""
    choice = loading.choose(config, options)
    if choice.device.type != "cuda" or options.num_batch is not None:
        return choice
    free_bytes, _ = torch.cuda.mem_get_info(choice.device)
    return fitted(config, choice, free_bytes)


def _warm_up(model: StepModel, prompter: Prompter, choice: loading.Choice) -> None:
    """Meet every shape once, and see that the sound is sane."""
    if isinstance(model, TorchStepModel):
        model.capture()
    self_test(model, prompter, strict=choice.device.type == "cpu")
