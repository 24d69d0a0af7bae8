"""Drawing tokens, each row by its own numbers, in upstream's order of operations.

Letters: R rows, C codebooks, V ids, k candidates. Nothing of a row reaches another row, and no sum
depends on how many candidates a neighbour asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from ollama_tts.engine.step_model import GOLDEN64, PENALTY_WINDOW, Job

MIN_KEPT = 3
MIN_TEMPERATURE = 1e-5
Noise = Callable[[Tensor, Tensor, Tensor], Tensor]
_FIRST_FACTOR = 0xBF58476D1CE4E5B9
_SECOND_FACTOR = 0x94D049BB133111EB


def signed(value: int) -> int:
    """An unsigned 64-bit number as the signed one with the same bits (torch has no other)."""
    return value - (1 << 64) if value >> 63 else value


@dataclass(frozen=True, slots=True)
class Rows:
    """What the sampler knows of R rows.

    `temperature`, `top_p`, `penalty` float32 [R]; `top_k`, `seed`, `drawn`, `min_tokens` int64
    [R]; `window` int64 [R, C, 16]: the last tokens of each codebook, V where there is none yet.
    """

    temperature: Tensor
    top_p: Tensor
    top_k: Tensor
    penalty: Tensor
    seed: Tensor
    drawn: Tensor
    min_tokens: Tensor
    window: Tensor

    @classmethod
    def empty(cls, rows: int, codebooks: int, device: torch.device | str = "cpu") -> Self:
        """Room for `rows` rows."""

        def real() -> Tensor:
            return torch.ones(rows, device=device)

        def whole() -> Tensor:
            return torch.zeros(rows, dtype=torch.int64, device=device)

        window = torch.zeros(rows, codebooks, PENALTY_WINDOW, dtype=torch.int64, device=device)
        return cls(real(), real(), whole(), real(), whole(), whole(), whole(), window)

    def begin(self, row: int, job: Job, seed: int, ids: int) -> None:
        """Row `row` starts `job` and draws from `ids` candidates with `seed`."""
        sampling = job.sampling
        self.temperature[row] = max(sampling.temperature, MIN_TEMPERATURE)
        self.top_p[row] = sampling.top_p
        self.top_k[row] = max(sampling.top_k or ids, MIN_KEPT)
        self.penalty[row] = sampling.repeat_penalty
        self.seed[row] = signed(seed)
        self.drawn[row] = 0
        self.min_tokens[row] = job.min_tokens
        self.window[row] = ids

    def at(self, rows: Tensor) -> "Rows":
        """The rows that `rows` int64 [n] names, in that order."""
        return Rows(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def record(self, rows: Tensor, tokens: Tensor) -> None:
        """`tokens` [n, C] were drawn by the rows `rows` int64 [n]."""
        self.window[rows] = torch.cat([self.window[rows][..., 1:], tokens[..., None]], -1)
        self.drawn[rows] += 1


def draw(
    logits: Tensor, rows: Rows, noise: Noise, *, end: int, candidates: int
) -> tuple[Tensor, Tensor]:
    """Tokens int64 [R, C] and which rows are sound, bool [R].

    Args:
        logits: Float32 [R, C, V].
        rows: Their settings and histories.
        end: The id that is masked while a row has drawn fewer than its least.
        candidates: At least every row's `top_k` (it bounds work, not the result).
        noise: (seed [R], step [R], ids [R, C, k]) → exponential noise float32 [R, C, k].

    A row is unsound where its logits are not finite; its tokens then mean nothing.
    """
    ids_total = logits.shape[-1]
    sound = logits.isfinite().all(-1).all(-1)
    scores = torch.where(sound[:, None, None], logits, 0.0) / rows.temperature[:, None, None]
    scores = _penalised(scores, rows)
    values, ids = scores.topk(min(candidates, ids_total), -1)
    keep = _kept(values, scores.logsumexp(-1, keepdim=True), rows)
    early = (rows.drawn < rows.min_tokens)[:, None, None]
    keep &= ~(early & (ids == end))
    values = values.masked_fill(~keep, -torch.inf)
    weight = (values - values.amax(-1, keepdim=True)).exp()
    chosen = (weight / noise(rows.seed, rows.drawn, ids)).argmax(-1, keepdim=True)
    return ids.gather(-1, chosen)[..., 0], sound


def _penalised(scores: Tensor, rows: Rows) -> Tensor:
    """Ids of the last tokens made less likely, by the penalty to the power of their count."""
    rows_total, codebooks, ids_total = scores.shape
    counts = scores.new_zeros(rows_total, codebooks, ids_total + 1)
    # Beyond the ids lies what a row has not drawn yet, and what neighbours in a block step draw
    # from a larger vocabulary.
    window = rows.window[:, :codebooks].clamp(max=ids_total)
    counts.scatter_add_(-1, window, torch.ones_like(window, dtype=scores.dtype))
    alpha = rows.penalty[:, None, None] ** counts[..., :-1]
    return torch.where(scores < 0, scores * alpha, scores / alpha)


def _kept(values: Tensor, total: Tensor, rows: Rows) -> Tensor:
    """Which of the sorted candidates pass top-P and then top-K; at least three always do."""
    mass = (values - total).exp()
    rank = torch.arange(values.shape[-1], device=values.device)
    inside = mass.cumsum(-1) - mass < rows.top_p[:, None, None]
    return inside & (rank < rows.top_k[:, None, None]) | (rank < MIN_KEPT)


def exponential(seed: Tensor, step: Tensor, ids: Tensor) -> Tensor:
    """-ln(u) with `engine.step_model.uniform`'s u, for `ids` int64 [R, C, k]: float32 [R, C, k]."""
    golden = signed(GOLDEN64)
    codebook = torch.arange(ids.shape[1], device=ids.device)
    row = _mix(seed + golden * (step + 1))
    book = _mix(row[:, None] + golden * (codebook + 1))
    bits = _mix(book[..., None] + golden * (ids + 1))
    return -(((_shifted(bits, 41)).float() + 0.5) * 2.0**-23).log()


def _mix(value: Tensor) -> Tensor:
    """SplitMix64's finaliser on int64 tensors, whose products wrap as unsigned ones do."""
    value = (value ^ _shifted(value, 30)) * signed(_FIRST_FACTOR)
    value = (value ^ _shifted(value, 27)) * signed(_SECOND_FACTOR)
    return value ^ _shifted(value, 31)


def _shifted(value: Tensor, bits: int) -> Tensor:
    """A shift to the right that brings in zeros."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)
