"""`StepModel`: everything the engine's thread asks of a model that speaks in codec steps.

The seam between policy (this package: queue, slots, order, windows; no tensors) and arithmetic
(`backends/chattts`: weights, caches, sampler, decoder). Words used here:

* a **step** makes one token: `codebooks` codes, `step_samples` samples of sound;
* a **slot** is a place in the model's cache, 0 .. `slots`-1. The engine hands out slots, lowest
  free number first, so the slots in use stay nearly dense. A number belongs to one job from
  `start` to `stop`;
* a **job** is one utterance ready to run. Its sound depends on the job alone: never on the slot,
  on the other rows of a step, on how its prompt was cut into chunks, or on what ran before.

Every method but `geometry` is called on the engine's thread only, never two at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

MASK64 = (1 << 64) - 1
GOLDEN64 = 0x9E3779B97F4A7C15
PENALTY_WINDOW = 16


@dataclass(frozen=True, slots=True)
class Geometry:
    """The fixed numbers of a loaded model.

    `slots`: most jobs started at once. `positions`: most positions a slot can hold, prompt and
    generated tokens together. `step_samples`: samples a token is worth; N tokens make
    `N * step_samples - tail_samples` samples. `context_steps`: how many tokens on each side
    of a sample the decoder and vocoder look at.
    """

    slots: int
    positions: int
    step_samples: int = 512
    tail_samples: int = 256
    context_steps: int = 52
    sample_rate_hz: int = 24_000

    def samples(self, tokens: int) -> int:
        """Samples of a whole utterance of `tokens` tokens."""
        return max(0, tokens * self.step_samples - self.tail_samples)

    def steps(self, samples: int) -> int:
        """Tokens behind the first `samples` samples."""
        return -(-samples // self.step_samples)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn, in upstream's order of operations.

    logits / `temperature` → repetition penalty (`repeat_penalty` to the power of how often an
    id is among the last `PENALTY_WINDOW` tokens of its codebook; negative logits times, others
    divided by it) → `top_p` → `top_k` (0: no limit; both keep at least 3 candidates) → the end
    token masked while fewer than the job's `min_tokens` tokens are there → softmax → argmax of
    p / E, with E = -ln(u), u = `uniform(seed, step, codebook, id)`.
    """

    temperature: float = 0.3
    top_p: float = 0.7
    top_k: int = 20
    repeat_penalty: float = 1.05


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """What the model reads before it generates: P positions.

    `ids` int32 [P, codebooks]. `is_text` bool [P]: True where `ids[p, 0]` is a text id (the other
    columns are ignored), False where all columns are audio codes. `injected` float32 [k, hidden]
    replaces the embedding at `injected_at` int32 [k], ascending (a speaker vector, already
    normalised); both are empty where nothing is injected.
    """

    ids: NDArray[np.int32]
    is_text: NDArray[np.bool_]
    injected: NDArray[np.float32]
    injected_at: NDArray[np.int32]

    def __len__(self) -> int:
        """Positions, P."""
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One utterance ready to run.

    `kind` "speech" draws audio codes (any codebook's end token ends it); "text" draws ids of the
    text vocabulary until the refine stage's end token, and makes no sound. `seed` is an unsigned
    64-bit number. `min_tokens` and `max_tokens` bound what is generated;
    `len(prompt) + max_tokens` is at most the geometry's `positions`. `adapter` is what the model
    lays over its weights for this job, in the model's own form; None: nothing.
    """

    prompt: Prompt
    sampling: Sampling
    seed: int
    max_tokens: int
    min_tokens: int = 0
    kind: Literal["speech", "text"] = "speech"
    adapter: object = None


@dataclass(frozen=True, slots=True)
class Prefill:
    """Read prompt positions [`start`, `stop`) of the job in `slot`.

    A prompt is read in order and may take several steps. The chunk that reaches the prompt's end
    also draws the first token in the same call.
    """

    slot: int
    start: int
    stop: int


OutcomeKind = Literal["token", "end", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step did for one row that drew.

    "token": one more token is there. "end": the end token was drawn; it is not counted and makes
    no sound. "failed": the row's numbers were not finite; only this row is lost.
    """

    slot: int
    kind: OutcomeKind


@dataclass(frozen=True, slots=True)
class Window:
    """Sound to make of the job in `slot`.

    Tokens [`start`, `stop`) are enough (a model with stateful convolutions may ignore `start`);
    `stop` is all tokens there are, or will ever be where `final`. Wanted are samples
    [`keep_start`, `keep_stop`), counted from the utterance's beginning. The windows of a slot
    follow each other without gap or overlap: `keep_start` is the previous `keep_stop`.
    """

    slot: int
    start: int
    stop: int
    keep_start: int
    keep_stop: int
    final: bool


class StepModel(Protocol):
    """A loaded model, one step at a time.

    Out of memory: `start`, `step` and `render` raise `errors.OutOfMemory` and have then changed
    nothing that the same call, made again later with the same or fewer rows, would not put
    right. The engine answers by stopping some jobs and starting them again later; a job that is
    started again gives the same tokens and the same sound.

    Any other exception means that the model is broken: the engine ends and every job fails.
    """

    @property
    def geometry(self) -> Geometry:
        """The fixed numbers; may be read from any thread."""

    def start(self, slot: int, job: Job, attempt: int) -> None:
        """Put a job into a free slot.

        `attempt` counts how often the job drew its end token at once before (0, 1 or 2); the
        random numbers come from `attempt_seed(job.seed, attempt)`.

        Raises:
            OutOfMemory: No memory for one more job now.
        """

    def step(self, prefill: Sequence[Prefill], decode: Sequence[int]) -> Sequence[Outcome]:
        """Run one step over any mix of rows; no slot is named twice.

        `decode` names slots whose prompt has been read. Returns one outcome for each decode row
        and for each prefill that reached its prompt's end, in any order. A model that reads its
        results late (a GPU) may give a row's outcome with the next call that names the row.

        Raises:
            OutOfMemory: Not with these rows.
        """

    def render(self, windows: Sequence[Window]) -> Sequence[NDArray[np.float32]]:
        """The sound of windows of several jobs, made together.

        Returns float32 [keep_stop - keep_start] for each window, in order, as fresh arrays.
        Samples that are not finite mean that this row failed; the engine checks.

        Raises:
            OutOfMemory: Not with these windows.
        """

    def text(self, slot: int) -> list[int]:
        """The text ids that a job of kind "text" has drawn so far, without the end token."""

    def stop(self, slot: int) -> None:
        """Free a slot and all that was kept for its job; never fails."""

    def memory_bytes(self) -> int:
        """What weights, caches and work space occupy now."""

    def close(self) -> None:
        """Give everything back; nothing is called afterwards."""


def mix64(value: int) -> int:
    """The SplitMix64 finaliser: a bijection of unsigned 64-bit numbers that scatters them."""
    value &= MASK64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK64
    return value ^ (value >> 31)


def attempt_seed(seed: int, attempt: int) -> int:
    """The seed of a later attempt; attempt 0 keeps `seed` itself (modulo 2^64)."""
    return seed & MASK64 if attempt == 0 else mix64(seed + GOLDEN64 * attempt)


def uniform(seed: int, step: int, codebook: int, index: int) -> float:
    """The random number in (0, 1) of one candidate: every sampler computes exactly this.

    `step` counts the tokens generated before (0 for the first), `index` is the candidate's id.
    The same numbers wherever, whenever and beside whomever a row runs. The value is a multiple
    of 2^-24 and exact in float32.
    """
    row = mix64(seed + GOLDEN64 * (step + 1))
    book = mix64(row + GOLDEN64 * (codebook + 1))
    bits = mix64(book + GOLDEN64 * (index + 1))
    return ((bits >> 41) + 0.5) * 2.0**-23
