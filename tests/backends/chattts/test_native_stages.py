"""Decoder and vocoder in the native library against the same in torch."""

import numpy as np
import pytest
import torch

from ollama_tts.backends.chattts.native_stages import CompiledStages, native_stages
from ollama_tts.backends.chattts.renderer import Synthesizer
from ollama_tts.backends.chattts.stages import BlockWeights
from ollama_tts.backends.chattts.stream_conv import TorchStages
from ollama_tts.backends.chattts.weights import Checkpoint
from tests.backends.chattts.test_streaming import spoken
from tests.support.native import paths

CPU = torch.device("cpu")


def hidden_states(checkpoint: Checkpoint, tokens: int) -> torch.Tensor:
    width = checkpoint.config.gpt.hidden_size
    return torch.randn(tokens, width, generator=torch.Generator().manual_seed(1))


def decibels(made: torch.Tensor, exact: torch.Tensor) -> float:
    """How far the error lies below the signal."""
    return float(10 * torch.log10((exact**2).sum() / ((made - exact) ** 2).sum()))


@torch.inference_mode()
@pytest.mark.parametrize("path", paths())
def test_in_float32_it_is_torchs_sound(tiny: Checkpoint, path: str) -> None:
    hidden = hidden_states(tiny, 80)
    exact = Synthesizer(tiny, CPU).whole(hidden)
    make = native_stages(threads=2, int8=False, path=path)  # type: ignore[arg-type]
    made = Synthesizer(tiny, CPU, make).whole(hidden)
    np.testing.assert_allclose(made.numpy(), exact.numpy(), atol=1e-6)


@torch.inference_mode()
def test_in_int8_speech_is_near_to_it(mini: Checkpoint) -> None:
    hidden = spoken(mini)
    exact = Synthesizer(mini, CPU).whole(hidden)
    made = Synthesizer(mini, CPU, native_stages(threads=2, int8=True)).whole(hidden)
    assert decibels(made, exact) > 31


@torch.inference_mode()
@pytest.mark.parametrize("int8", [False, True])
def test_a_stream_in_pieces_is_the_whole_bit_for_bit(tiny: Checkpoint, int8: bool) -> None:
    synthesizer = Synthesizer(tiny, CPU, native_stages(threads=2, int8=int8))
    hidden = hidden_states(tiny, 90)
    state, parts, tokens = synthesizer.begin(), [], 0
    for start in range(0, 90, 7):
        piece = hidden[start : start + 7]
        ends = start + 7 >= 90
        (pushed,) = synthesizer.push([piece], [state], [ends], [not ends])
        state, tokens = pushed.state, tokens + len(piece)
        parts.append(pushed.sound)
        if not ends:
            assert sum(len(part) for part in parts) == synthesizer.complete(tokens)
            now = torch.cat([*parts, pushed.ahead])
            assert torch.equal(now, synthesizer.whole(hidden[:tokens]))
    assert torch.equal(torch.cat(parts), synthesizer.whole(hidden))


def test_a_shape_that_does_not_fit_is_made_in_torch() -> None:
    n = 20
    pair = torch.ones(n), torch.zeros(n)
    block = BlockWeights(torch.ones(7, n), torch.zeros(n), 1, pair,
                         (torch.ones(40, n), torch.zeros(40)),
                         (torch.ones(n, 40), torch.zeros(n)))  # fmt: skip
    make = native_stages(threads=1, int8=False)
    assert isinstance(make([block]), TorchStages)
    fitting = BlockWeights(torch.ones(7, 16), torch.zeros(16), 1, (torch.ones(16),) * 2,
                           (torch.ones(32, 16), torch.zeros(32)),
                           (torch.ones(16, 32), torch.zeros(16)))  # fmt: skip
    assert isinstance(make([fitting]), CompiledStages)
