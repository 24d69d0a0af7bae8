"""A loaded model speaks once before anyone hears it: that warms it up and proves that it works.

Versions of torch differ in their kernels. A combination that computes nonsense, or whose rows
touch each other, is named at load instead of failing on every request.
"""

import logging
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.chattts.prompt import Prompter, VoicePrompt
from ollama_tts.engine.step_model import Job, Prefill, Sampling, StepModel, Window
from ollama_tts.errors import LoadFailed

logger = logging.getLogger(__name__)

TOKENS = 6
TEXTS = ("你好 hello.", "good morning to you, good morning.")
PACKAGES = ("torch", "numpy", "safetensors", "tokenizers")


def self_test(model: StepModel, prompter: Prompter, *, strict: bool) -> None:
    """Say a few tokens alone and in company.

    Raises:
        LoadFailed: The sound is not finite, or (with `strict`) company changed it; the text
            names the versions of the packages that did this.
    """
    first, second = (_job(prompter, text) for text in TEXTS)
    alone = _speak(model, [first])[0]
    together = _speak(model, [first, second][: model.geometry.slots])
    if not all(np.isfinite(sound).all() and np.ptp(sound) > 0 for sound in [alone, *together]):
        raise LoadFailed(f"the self-test made no usable sound with {_versions()}")
    if not np.array_equal(alone, together[0]):
        problem = f"the self-test sounded different in a batch with {_versions()}"
        if strict:
            raise LoadFailed(problem)
        logger.warning("%s: a seed fixes the sound only for the same batch size", problem)


def _job(prompter: Prompter, text: str) -> Job:
    prompt = prompter.speech(text, "en", VoicePrompt())
    return Job(prompt, Sampling(), seed=1, max_tokens=TOKENS, min_tokens=TOKENS)


def _speak(model: StepModel, jobs: Sequence[Job]) -> list[NDArray[np.float32]]:
    """Run jobs side by side and render them, the first piece with look-ahead as a stream does."""
    slots = range(len(jobs))
    for slot, job in enumerate(jobs):
        model.start(slot, job, 0)
    reads = [Prefill(slot, 0, len(job.prompt)) for slot, job in enumerate(jobs)]
    outcomes = list(model.step(reads, []))
    for _ in range(TOKENS - 1):
        outcomes += model.step([], list(slots))
    if any(outcome.kind != "token" for outcome in outcomes):
        raise LoadFailed(f"the self-test's numbers were not finite with {_versions()}")
    total, half = model.geometry.samples(TOKENS), model.geometry.samples(TOKENS // 2)
    begun = model.render([Window(s, 0, TOKENS, 0, half, final=False) for s in slots])
    ended = model.render([Window(s, 0, TOKENS, half, total, final=True) for s in slots])
    for slot in slots:
        model.stop(slot)
    return [np.concatenate(pair) for pair in zip(begun, ended, strict=True)]


def _versions() -> str:
    return ", ".join(f"{name} {_version(name)}" for name in PACKAGES)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"
