"""What smaller numbers cost: divergence from fp32 along one path, at temperature 1, full size."""

import numpy as np
import pytest
import torch
from torch import Tensor

from ollama_tts.backends.chattts.gpt import GPT, Precision
from ollama_tts.backends.chattts.kv_cache import SlotCache
from ollama_tts.backends.chattts.prompt import VoicePrompt
from ollama_tts.backends.chattts.renderer import Synthesizer
from ollama_tts.backends.chattts.speaker import Statistics, normalized
from ollama_tts.backends.chattts.vocabulary import Vocabulary
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, Prompt, Sampling
from tests.backends.chattts.conftest import prompter
from tests.support.chattts import CPU, FP32, run_alone, step_model

STEPS = 120
TEXT = "good morning the quick brown fox jumps over the lazy dog."


@torch.inference_mode()
def read(checkpoint: Checkpoint, precision: Precision, prompt: Prompt) -> tuple[Tensor, Tensor]:
    """Log-probabilities [STEPS, C, V] and hidden states [STEPS, H] of the prompt's codes."""
    layers = (CPU,) * checkpoint.config.gpt.num_hidden_layers
    gpt = GPT(checkpoint, precision, layers, positions=1024)
    words = Vocabulary(checkpoint, precision, CPU)
    cache = SlotCache(checkpoint.config.gpt, precision.compute, layers)
    cache.open(0, len(prompt))
    hidden = gpt.prefill(words.prompt(prompt, 0, len(prompt)), cache, 0, 0)[-STEPS:]
    return words.code_logits(hidden).log_softmax(-1), hidden


@pytest.fixture(scope="module")
def path(full: Checkpoint) -> Prompt:
    """A prompt that holds what fp32 drew after it: the path that all are forced along."""
    who = VoicePrompt(normalized(Statistics(full.config.spk_stat, 768).draw(1)))
    prompt = prompter(full).speech(TEXT, "en", who)
    drawn = run_alone(step_model(full, slots=1), Job(prompt, Sampling(), 1, STEPS, STEPS)).codes
    return prompter(full).speech(TEXT, "en", VoicePrompt(vector=who.vector, codes=drawn.T))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("precision", "most_kl", "least_snr_db"),
    [
        (Precision("fp16", torch.float16, 4), 5e-4, 35),
        (Precision("bf16", torch.bfloat16, 4), 4e-3, 25),
        (Precision("int8", torch.float32, 2), 1e-2, 22),
        (Precision("int4", torch.float32, 2), 1.0, 3),
    ],
)
def test_divergence_from_fp32(
    full: Checkpoint, path: Prompt, precision: Precision, most_kl: float, least_snr_db: float
) -> None:
    exact, exact_hidden = read(full, FP32, path)
    found, found_hidden = read(full, precision, path)
    divergence = (exact.exp() * (exact - found)).sum(-1)
    synthesizer = Synthesizer(full, CPU)
    whole, other = (synthesizer.whole(h).numpy() for h in (exact_hidden, found_hidden))
    snr_db = 10 * np.log10(np.sum(whole**2) / np.sum((whole - other) ** 2))
    agree = (exact.argmax(-1) == found.argmax(-1)).float().mean().item()
    print(f"{precision.weights}: KL {divergence.mean():.1e}, sound {snr_db:.1f} dB, "  # noqa: T201
          f"likeliest id the same {agree:.1%}")  # fmt: skip
    assert divergence.mean() <= most_kl
    assert snr_db >= least_snr_db
