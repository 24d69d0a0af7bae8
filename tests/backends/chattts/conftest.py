"""Checkpoints and loaded models for the tests of this folder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ollama_tts.backends.chattts.prompt import Prompter, VoicePrompt
from ollama_tts.backends.chattts.reference import Chat, load_chat, quiet
from ollama_tts.backends.chattts.speaker import decode_speaker, normalized
from ollama_tts.backends.chattts.weights import Checkpoint, directory
from tests.support.checkpoints import FULL, TINY, write

MINI = Path(__file__).parents[2] / "data/chattts-mini"


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tests share few cores; one thread each is quickest."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A tiny random checkpoint."""
    return Checkpoint(directory(write(tmp_path_factory.mktemp("tiny"), TINY)))


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A random checkpoint of the official sizes (1.2 GB)."""
    return Checkpoint(directory(write(tmp_path_factory.mktemp("full"), FULL)))


@pytest.fixture(scope="session")
def mini() -> Checkpoint:
    """The small checkpoint that speaks."""
    return Checkpoint(directory(MINI))


@pytest.fixture(scope="session")
def tiny_chat(tiny: Checkpoint) -> Chat:
    """Upstream with the tiny checkpoint."""
    return upstream(tiny)


@pytest.fixture(scope="session")
def mini_chat(mini: Checkpoint) -> Chat:
    """Upstream with the checkpoint that speaks."""
    return upstream(mini)


def upstream(checkpoint: Checkpoint) -> Chat:
    """Upstream with a checkpoint."""
    with quiet():
        return load_chat(checkpoint.files, checkpoint.config, torch.device("cpu"))


def prompter(checkpoint: Checkpoint) -> Prompter:
    """The prompts of a checkpoint."""
    return Prompter(checkpoint.tokenizer, checkpoint.config.gpt.num_vq)


def voice(checkpoint: Checkpoint, name: str) -> VoicePrompt:
    """A named voice of a checkpoint."""
    hidden = checkpoint.config.gpt.hidden_size
    return VoicePrompt(normalized(decode_speaker(checkpoint.speakers()[name], hidden)))


@dataclass(frozen=True)
class Sentence:
    """A row of `sentences.json`."""

    id: str
    text: str
    language: str
    speaker: str
    tokens: int
    transcript: str


def sentences() -> list[Sentence]:
    """What the mini checkpoint can say."""
    rows = json.loads((MINI / "sentences.json").read_text(encoding="utf-8"))
    return [Sentence(**{k: row[k] for k in Sentence.__annotations__}) for row in rows]


def pitch_hz(samples: NDArray[np.float32], rate_hz: int = 24_000) -> float:
    """The median pitch of the louder half of 40 ms frames, by autocorrelation."""
    size, hop = rate_hz // 25, rate_hz // 100
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]
    energy = (frames**2).sum(1)
    loud = frames[energy > np.median(energy)]
    spectrum = np.abs(np.fft.rfft(loud - loud.mean(1, keepdims=True), 2 * size)) ** 2
    lags = np.fft.irfft(spectrum)[:, :size]
    low, high = rate_hz // 400, rate_hz // 70
    best = lags[:, low:high].argmax(1) + low
    voiced = lags[np.arange(len(best)), best] > 0.5 * lags[:, 0]
    return float(np.median(rate_hz / best[voiced]))
