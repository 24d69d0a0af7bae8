"""`ChatTTSBackend`: loads ChatTTS models; its runner speaks many utterances at once."""

import logging
import time

import torch

from ollama_tts.backends.base import Memory
from ollama_tts.backends.chattts import loading
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.estimate import estimate, estimate_reference, fitted
from ollama_tts.backends.chattts.lora import TunedCheckpoint, read_lora
from ollama_tts.backends.chattts.lora_files import lora_names
from ollama_tts.backends.chattts.prompt import Prompter
from ollama_tts.backends.chattts.reference_runner import ReferenceRunner
from ollama_tts.backends.chattts.runner import Body, ChatTTSRunner, laid_lora, voice_book
from ollama_tts.backends.chattts.self_test import self_test
from ollama_tts.backends.chattts.step_model import TorchStepModel
from ollama_tts.backends.chattts.weights import Checkpoint, read_config
from ollama_tts.engine.loop import Engine
from ollama_tts.engine.step_model import StepModel
from ollama_tts.errors import InvalidWeights, Unsupported
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
        prompter = _prompter(checkpoint)
        voices = voice_book(checkpoint, model.adapters)
        if options.backend == "reference":
            _refuse_lora(model)
            return ReferenceRunner(checkpoint, prompter, voices, loading.device_of(options))
        choice = _choose(checkpoint.config, options)
        merged = _merges(model, choice)
        laid = None if merged else laid_lora(checkpoint, model.adapters, choice)
        logger.info("loading %s: %s", model.name.short, choice.notes)
        weights = _tuned(checkpoint, model) if merged else checkpoint
        step_model = loading.build(weights, choice, text_end=prompter.refine_end)
        logger.info("loading %s: warming up", model.name.short)
        _warm_up(step_model, prompter, choice)
        logger.info("loaded %s in %.1f s", model.name.short, time.monotonic() - began_s)
        engine = Engine(step_model, name=model.name.short)
        body = Body(engine, step_model, prompter, checkpoint, choice, merged)
        return ChatTTSRunner(body, voices, laid)

    def merges(self, model: LocalModel, options: LoadOptions) -> bool:
        """Whether the model needs weights of its own for its adapters; see `Merging.merges`.

        Raises:
            InvalidWeights: The model's config is damaged.
            Unsupported: The backend that was asked for speaks without LoRA.
        """
        if options.backend == "reference":
            _refuse_lora(model)
            return bool(model.adapters)
        if not lora_names(model.adapters):
            return False
        return _merges(model, loading.choose(read_config(model.files), options))


def _prompter(checkpoint: Checkpoint) -> Prompter:
    config = checkpoint.config
    prompter = Prompter(checkpoint.tokenizer, config.gpt.num_vq)
    if prompter.vocabulary > config.gpt.num_text_tokens:
        raise InvalidWeights(
            f"the tokenizer has {prompter.vocabulary} entries, "
            f"the model {config.gpt.num_text_tokens}"
        )
    return prompter


def _merges(model: LocalModel, choice: loading.Choice) -> bool:
    """The native step keeps weights packed: a LoRA becomes part of them. Torch lays it over."""
    return choice.implementation == "native" and bool(lora_names(model.adapters))


def _tuned(checkpoint: Checkpoint, model: LocalModel) -> Checkpoint:
    lora = read_lora(model.adapters, checkpoint.config)
    return checkpoint if lora is None else TunedCheckpoint(model.files, lora)


def _refuse_lora(model: LocalModel) -> None:
    if lora_names(model.adapters):
        raise Unsupported("backend reference speaks without LoRA; use auto, torch or native")


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
