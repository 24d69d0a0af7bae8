"""Drawing against upstream's own processors, and random numbers against their definition."""

import numpy as np
import pytest
import torch
from torch import Tensor

from ollama_tts.backends.chattts.reference import quiet
from ollama_tts.backends.chattts.sampler import Noise, Rows, draw, exponential
from ollama_tts.engine.step_model import MASK64, Job, Prompt, Sampling, uniform

IDS, END = 626, 625


def job(sampling: Sampling, min_tokens: int = 0) -> Job:
    nothing = np.empty((0, 4), np.int32)
    prompt = Prompt(nothing, np.empty(0, np.bool_), np.empty((0, 8), np.float32),
                    np.empty(0, np.int32))  # fmt: skip
    return Job(prompt, sampling, 0, 100, min_tokens)


def rows_of(samplings: list[Sampling], min_tokens: int = 0) -> Rows:
    rows = Rows.empty(len(samplings), 4)
    for i, sampling in enumerate(samplings):
        rows.begin(i, job(sampling, min_tokens), seed=i, ids=IDS)
    return rows


def unit(seed: Tensor, step: Tensor, ids: Tensor) -> Tensor:
    return torch.ones(ids.shape)


def fixed(noise: Tensor) -> Noise:
    """Always the same noise [4, IDS]."""
    return lambda _seed, _step, ids: noise[None].gather(-1, ids)


def random_logits(rows: int, seed: int = 0) -> Tensor:
    return 3 * torch.randn(rows, 4, IDS, generator=torch.Generator().manual_seed(seed))


def test_exponential_is_the_defined_number() -> None:
    seeds = [0, 1, 77, MASK64, 1 << 63, 0x123456789ABCDEF0]
    signed = torch.tensor([s - (1 << 64) if s >> 63 else s for s in seeds])
    step = torch.tensor([0, 1, 2, 3, 4, 2047])
    ids = torch.randint(0, IDS, (6, 4, 5), generator=torch.Generator().manual_seed(0))
    found = exponential(signed, step, ids)
    for r in range(6):
        for c in range(4):
            for k in range(5):
                u = uniform(seeds[r], int(step[r]), c, int(ids[r, c, k]))
                assert found[r, c, k].item() == pytest.approx(-np.log(u), rel=1e-6)


def test_exponential_is_exponential() -> None:
    drawn = exponential(torch.tensor([5]), torch.tensor([9]), torch.arange(100_000).view(1, 1, -1))
    assert drawn.mean().item() == pytest.approx(1, abs=0.02)
    assert drawn.std().item() == pytest.approx(1, abs=0.02)
    assert drawn.min() > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sampling", [
    Sampling(), Sampling(1.0, 0.9, 50, 1.3), Sampling(0.7, 0.05, 3, 1.0), Sampling(2.0, 1.0, 0, 0.9)
])  # fmt: skip
def test_draws_are_upstreams(sampling: Sampling) -> None:
    """The same history, logits and noise give the same tokens, 300 times."""
    with quiet():
        from ChatTTS.model.processors import gen_logits

        warpers, processors = gen_logits(
            IDS - 1, sampling.top_p, sampling.top_k or None, sampling.repeat_penalty
        )
    generator = torch.Generator().manual_seed(1)
    history = torch.randint(0, 20, (30, 4), generator=generator)
    rows = rows_of([sampling])
    for tokens in history:
        rows.record(torch.tensor([0]), tokens[None])
    logits = random_logits(1)[0]
    logits[:, :20] += 4
    scores = logits / sampling.temperature
    for process in (*processors, *warpers):
        scores = process(history.T, scores)
    seen = set()
    for _ in range(300):
        noise = torch.empty(4, IDS).exponential_(generator=generator)
        theirs = (scores.softmax(-1) / noise).argmax(-1)
        ours, sound = draw(logits[None], rows, fixed(noise), end=END, candidates=IDS)
        assert sound.all()
        assert torch.equal(ours[0], theirs)
        seen.add(tuple(ours[0].tolist()))
    assert len(seen) > 5


def test_end_waits_for_the_least() -> None:
    logits = torch.zeros(1, 4, IDS)
    logits[..., END] = 100.0
    rows = rows_of([Sampling(temperature=1e-5)], min_tokens=2)
    for count in range(3):
        tokens, _ = draw(logits, rows, unit, end=END, candidates=20)
        assert (tokens == END).all() == (count == 2)
        rows.record(torch.tensor([0]), tokens)


def test_greedy_takes_the_likeliest() -> None:
    logits = random_logits(5, seed=3)
    rows = rows_of([Sampling(temperature=0.0, repeat_penalty=1.0)] * 5)
    tokens, _ = draw(logits, rows, exponential, end=END, candidates=20)
    assert torch.equal(tokens, logits.argmax(-1))


@pytest.mark.parametrize("poison", [torch.nan, torch.inf, -torch.inf])
def test_a_row_that_is_not_finite_is_named(poison: float) -> None:
    logits = random_logits(3)
    clean, _ = draw(logits, rows_of([Sampling()] * 3), exponential, end=END, candidates=20)
    logits[1, 2, 600] = poison
    tokens, sound = draw(logits, rows_of([Sampling()] * 3), exponential, end=END, candidates=20)
    assert sound.tolist() == [True, False, True]
    assert torch.equal(tokens[[0, 2]], clean[[0, 2]])
    assert ((tokens >= 0) & (tokens < IDS)).all()


def test_more_candidates_for_a_neighbour_change_nothing() -> None:
    logits = random_logits(1)
    rows = rows_of([Sampling(temperature=1.0)])
    few, _ = draw(logits, rows, exponential, end=END, candidates=20)
    many, _ = draw(logits, rows, exponential, end=END, candidates=IDS)
    assert torch.equal(few, many)
