"""Sound in pieces: exact pieces are the whole bit by bit, hurried ones join without a click."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from torch import Tensor

from ollama_tts.backends.chattts.renderer import FADE_SAMPLES, Renderer, Synthesizer
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, Sampling, Window
from tests.backends.chattts.conftest import prompter, sentences, voice
from tests.support.chattts import CPU, run_alone, step_model

STEP = 512


def hidden_states(tokens: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(tokens, width, generator=torch.Generator().manual_seed(seed))


def stream(
    renderer: Renderer, slot: int, hidden: Tensor, stops: Sequence[int], look_ahead: int
) -> list[NDArray[np.float32]]:
    """The pieces made whenever `stops` tokens are there, `look_ahead` tokens held back."""
    renderer.open(slot)
    pieces, fed, kept = [], 0, 0
    for stop in stops:
        for row in hidden[fed:stop]:
            renderer.feed(slot, row)
        fed, final = stop, stop == len(hidden)
        keep = stop * STEP - STEP // 2 if final else max(kept, (stop - look_ahead) * STEP)
        pieces.append(renderer.render([Window(slot, 0, stop, kept, keep, final)])[0])
        assert len(pieces[-1]) == keep - kept
        kept = keep
    renderer.close(slot)
    return pieces


@settings(max_examples=30, deadline=None)
@given(cuts=st.sets(st.integers(1, 89), max_size=8), seed=st.integers(0, 9))
def test_exact_pieces_are_the_whole(tiny: Checkpoint, cuts: set[int], seed: int) -> None:
    synthesizer = Synthesizer(tiny, CPU)
    hidden = hidden_states(90, 64, seed)
    context = tiny.config.context_steps
    pieces = stream(Renderer(synthesizer), 0, hidden, [*sorted(cuts), 90], context)
    whole = synthesizer.whole(hidden).numpy()
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_the_stated_context_is_enough_and_needed(tiny: Checkpoint) -> None:
    """A sample depends on hidden states within `context_frames` and on some that far away."""
    synthesizer = Synthesizer(tiny, CPU)
    hidden = hidden_states(80, 64)
    changed = hidden.clone()
    changed[40] += 1.0
    different = np.flatnonzero((synthesizer.whole(hidden) != synthesizer.whole(changed)).numpy())
    reach = tiny.config.context_frames * 256
    assert 80 * 256 - reach <= different.min() < 80 * 256 - reach + 1024
    assert 82 * 256 + reach - 1024 < different.max() + 1 <= 82 * 256 + reach


def test_streams_rendered_together_are_as_alone(tiny: Checkpoint) -> None:
    renderer = Renderer(Synthesizer(tiny, CPU))
    every = [hidden_states(n, 64, n) for n in (5, 40, 23)]
    alone = [stream(renderer, 0, h, [len(h)], 0)[0] for h in every]
    for slot, hidden in enumerate(every):
        renderer.open(slot)
        for row in hidden[: len(hidden) // 2]:
            renderer.feed(slot, row)
    halves = [len(h) // 2 for h in every]
    first = [Window(s, 0, n, 0, max(0, n - 10) * STEP, final=False) for s, n in enumerate(halves)]
    begun = renderer.render(first)
    for slot, hidden in enumerate(every):
        for row in hidden[len(hidden) // 2 :]:
            renderer.feed(slot, row)
    last = [
        Window(s, 0, len(h), first[s].keep_stop, len(h) * STEP - 256, final=True)
        for s, h in enumerate(every)
    ]
    ended = renderer.render(last)
    for start, rest, whole in zip(begun, ended, alone, strict=True):
        joined = np.concatenate([start, rest])
        assert joined.shape == whole.shape
        np.testing.assert_array_equal(
            joined[len(start) + FADE_SAMPLES :], whole[len(start) + FADE_SAMPLES :]
        )


@pytest.mark.parametrize(("look_ahead", "snr_db"), [(8, 30.0), (12, 40.0), (28, 100.0)])
def test_hurried_pieces_are_near_and_join(mini: Checkpoint, look_ahead: int, snr_db: float) -> None:
    """Real speech: the error of looking ahead less, and no jump where pieces meet."""
    synthesizer = Synthesizer(mini, CPU)
    hidden = spoken(mini)
    whole = synthesizer.whole(hidden).numpy()
    stops = [*range(16, len(hidden), 12), len(hidden)]
    pieces = stream(Renderer(synthesizer), 0, hidden, stops, look_ahead)
    joined = np.concatenate(pieces)
    error = np.mean((joined - whole) ** 2)
    assert 10 * np.log10(np.mean(whole**2) / max(error, 1e-20)) > snr_db
    borders = np.cumsum([len(p) for p in pieces])[:-1]
    assert len(borders) >= 4
    jump, usual = np.abs(np.diff(joined)), np.abs(np.diff(whole))
    for border in borders:
        near = usual[max(0, border - 600) : border + 600].max()
        assert jump[border - 1] <= near + 1e-4


def spoken(checkpoint: Checkpoint) -> Tensor:
    """Hidden states of a sentence."""
    row = sentences()[3]
    model = step_model(checkpoint, slots=1)
    prompt = prompter(checkpoint).speech(row.text, row.language, voice(checkpoint, row.speaker))
    kept: list[Tensor] = []
    feed = model._renderer.feed

    def keep(slot: int, hidden: Tensor) -> None:
        kept.append(hidden)
        feed(slot, hidden)

    model._renderer.feed = keep  # type: ignore[method-assign]
    made = run_alone(model, Job(prompt, Sampling(), 0, 300))
    assert made.outcome == "end"
    return torch.stack(kept)
