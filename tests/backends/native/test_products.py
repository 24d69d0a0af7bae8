import numpy as np
import pytest
import torch

from ollama_tts.backends.chattts.native_products import native_maker
from ollama_tts.backends.chattts.renderer import Synthesizer
from ollama_tts.backends.chattts.weights import Checkpoint

CPU = torch.device("cpu")


def hidden_states(checkpoint: Checkpoint, tokens: int) -> torch.Tensor:
    width = checkpoint.config.gpt.hidden_size
    return torch.randn(tokens, width, generator=torch.Generator().manual_seed(1))


def decibels(made: torch.Tensor, exact: torch.Tensor) -> float:
    """How far the error lies below the signal."""
    return float(10 * torch.log10((exact**2).sum() / ((made - exact) ** 2).sum()))


@torch.inference_mode()
def test_in_float32_it_is_torchs_sound(tiny: Checkpoint) -> None:
    hidden = hidden_states(tiny, 80)
    exact = Synthesizer(tiny, CPU).whole(hidden)
    made = Synthesizer(tiny, CPU, native_maker(2, int8=False)).whole(hidden)
    np.testing.assert_allclose(made.numpy(), exact.numpy(), atol=1e-6)


@torch.inference_mode()
def test_in_int8_it_is_near_to_it(tiny: Checkpoint) -> None:
    hidden = hidden_states(tiny, 80)
    exact = Synthesizer(tiny, CPU).whole(hidden)
    assert decibels(Synthesizer(tiny, CPU, native_maker(2, int8=True)).whole(hidden), exact) > 30


@torch.inference_mode()
@pytest.mark.parametrize("int8", [False, True])
def test_a_stream_in_pieces_is_the_whole_bit_for_bit(tiny: Checkpoint, int8: bool) -> None:
    synthesizer = Synthesizer(tiny, CPU, native_maker(2, int8=int8))
    hidden = hidden_states(tiny, 90)
    state, parts = synthesizer.begin(), []
    for start in range(0, 90, 7):
        piece = hidden[start : start + 7]
        ((samples, state),) = synthesizer.push([piece], [state], [start + 7 >= 90])
        parts.append(samples)
    assert torch.equal(torch.cat(parts), synthesizer.whole(hidden))
