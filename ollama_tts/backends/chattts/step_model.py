"""`TorchStepModel`: the engine's `StepModel` in torch. The device is a value.

On a CPU each row attends by itself over its own cache. With `Plan.block` (CUDA) steps run over the
first n slots in fixed shapes, as one graph with sampling inside. Letters: S slots, R rows,
C codebooks, H hidden width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ollama_tts.backends.chattts.gpt import GPT, Precision
from ollama_tts.backends.chattts.graphs import GraphedStep, reach_bucket, reach_buckets, row_bucket
from ollama_tts.backends.chattts.kv_cache import BlockCache, KVCache, SlotCache
from ollama_tts.backends.chattts.lora import LaidLora, TunedRows, rows_of
from ollama_tts.backends.chattts.memory import guarded
from ollama_tts.backends.chattts.renderer import Renderer, Synthesizer
from ollama_tts.backends.chattts.sampler import MIN_KEPT, Noise, Rows, draw, exponential
from ollama_tts.backends.chattts.vocabulary import Vocabulary
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import (
    Geometry,
    Job,
    Outcome,
    OutcomeKind,
    Prefill,
    Window,
    attempt_seed,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a checkpoint is laid out for running.

    `devices` names each layer's device; everything else lies on `device`. `threads` None leaves
    torch's own number. `block` chooses steps of fixed shape.
    """

    precision: Precision
    device: torch.device
    devices: tuple[torch.device, ...]
    slots: int
    positions: int
    threads: int | None = None
    block: bool = False
    fused_attention: bool = True


@dataclass(slots=True)
class _Running:
    """A job in a slot and the ids it drew, [drawn][codebooks]."""

    job: Job
    drawn: list[list[int]]

    @property
    def position(self) -> int:
        """Where the last drawn token goes."""
        return len(self.job.prompt) + len(self.drawn) - 1


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """What one row drew: its `tokens`, and the hidden state float32 [H] they came from."""

    slot: int
    kind: OutcomeKind
    tokens: list[int]
    hidden: Tensor


class TorchStepModel:
    """A loaded model, one step at a time; see `engine.step_model.StepModel`.

    Args:
        checkpoint: The weights.
        plan: Where and how they lie.
        text_end: The id that ends the refine stage.
        noise: Where random numbers come from.
    """

    @torch.inference_mode()
    def __init__(
        self,
        checkpoint: Checkpoint,
        plan: Plan,
        *,
        text_end: int,
        noise: Noise = exponential,
    ) -> None:
        config = checkpoint.config
        self._plan, self._config, self._text_end, self._noise = plan, config.gpt, text_end, noise
        self._geometry = Geometry(
            slots=plan.slots,
            positions=plan.positions,
            step_samples=config.step_samples,
            tail_samples=config.vocos.hop_length,
            context_steps=config.context_steps,
        )
        self._gpt = GPT(
            checkpoint,
            plan.precision,
            plan.devices,
            positions=plan.positions,
            fused_attention=plan.fused_attention,
        )
        self._vocabulary = Vocabulary(checkpoint, plan.precision, plan.device)
        self._synthesizer = Synthesizer(checkpoint, plan.device)
        self._renderer = Renderer(self._synthesizer)
        self._cache = self._new_cache()
        self._rows = Rows.empty(plan.slots, self._config.num_vq, plan.device)
        self._last = torch.zeros(
            plan.slots, self._config.num_vq, dtype=torch.int64, device=plan.device
        )
        self._positions = torch.zeros(plan.slots, dtype=torch.int64, device=plan.device)
        self._running: dict[int, _Running] = {}
        self._graphed = GraphedStep(self._step_block, plan.device)

    @property
    def geometry(self) -> Geometry:
        """The fixed numbers; may be read from any thread."""
        return self._geometry

    @torch.inference_mode()
    def start(self, slot: int, job: Job, attempt: int) -> None:
        """Put a job into a free slot.

        Raises:
            OutOfMemory: No memory for one more job now.
        """
        with guarded("making room for an utterance"):
            self._cache.open(slot, len(job.prompt) + job.max_tokens)
        self._renderer.open(slot)
        self._running[slot] = _Running(job, [])
        ids = self._config.num_audio_tokens
        if job.kind == "text":
            ids = self._config.num_text_tokens
        seed = attempt_seed(job.seed, attempt)
        self._rows.begin(slot, job, seed, ids)
        self._last[slot] = 0
        self._positions[slot] = 0

    @torch.inference_mode()
    def step(self, prefill: Sequence[Prefill], decode: Sequence[int]) -> Sequence[Outcome]:
        """Run one step over any mix of rows; see `StepModel.step`.

        Raises:
            OutOfMemory: Not with these rows.
        """
        self._use_threads()
        with guarded("stepping"):
            whole = [p for p in prefill if p.stop == len(self._running[p.slot].job.prompt)]
            hidden = {p.slot: self._prefill(p) for p in prefill}
            fresh = {p.slot: hidden[p.slot] for p in whole}
            block = [s for s in decode if self._plan.block and self._is_plain(s)]
            drawn = self._decode_block(block)
            fresh |= self._decode([s for s in decode if s not in block])
            drawn += self._draw({s: h for s, h in fresh.items() if not self._is_text(s)})
            drawn += self._draw_text({s: h for s, h in fresh.items() if self._is_text(s)})
        for done in prefill:
            self._positions[done.slot] = done.stop
        self._record([row for row in drawn if row.kind == "token"])
        return [Outcome(row.slot, row.kind) for row in drawn]

    @torch.inference_mode()
    def render(self, windows: Sequence[Window]) -> Sequence[NDArray[np.float32]]:
        """The sound of windows of several jobs; see `StepModel.render`.

        Raises:
            OutOfMemory: Not with these windows.
        """
        self._use_threads()
        with guarded("rendering sound"):
            return self._renderer.render(windows)

    def text(self, slot: int) -> list[int]:
        """The text ids that a job of kind "text" has drawn so far, without the end token."""
        return [ids[0] for ids in self._running[slot].drawn]

    def codes(self, slot: int) -> NDArray[np.int32]:
        """The codes that a job has drawn so far, int32 [n, C]."""
        return np.array(self._running[slot].drawn, np.int32).reshape(-1, self._config.num_vq)

    @torch.inference_mode()
    def stop(self, slot: int) -> None:
        """Free a slot and all that was kept for its job."""
        self._running.pop(slot, None)
        self._renderer.close(slot)
        self._cache.close(slot)
        self._positions[slot] = 0

    @torch.inference_mode()
    def capture(self) -> None:
        """Run the step once in each of its shapes, so that none is met for the first time later."""
        if self._plan.block:
            for rows in sorted(
                {row_bucket(n + 1, self._plan.slots) for n in range(self._plan.slots)}
            ):
                for reach in reach_buckets(self._plan.positions):
                    self._graphed(rows, reach)

    def memory_bytes(self) -> int:
        """What weights and caches occupy now."""
        parts = (self._gpt, self._vocabulary, self._synthesizer, self._cache)
        return sum(part.nbytes for part in parts)

    def close(self) -> None:
        """Give everything back; nothing is called afterwards."""
        self._running.clear()
        del self._gpt, self._vocabulary, self._synthesizer, self._renderer
        del self._cache, self._graphed
        if self._plan.device.type == "cuda":
            torch.cuda.empty_cache()

    def _new_cache(self) -> KVCache:
        plan = self._plan
        dtype = plan.precision.compute
        if not plan.block:
            return SlotCache(self._config, dtype, plan.devices)
        return BlockCache(
            self._config, dtype, plan.devices, slots=plan.slots, positions=plan.positions
        )

    def _use_threads(self) -> None:
        """The number of threads belongs to the calling thread, so it is set where work begins."""
        threads = self._plan.threads
        if threads is not None and torch.get_num_threads() != threads:
            torch.set_num_threads(threads)

    def _is_text(self, slot: int) -> bool:
        return self._running[slot].job.kind == "text"

    def _is_plain(self, slot: int) -> bool:
        """Whether a slot may share steps of fixed shape: it draws codes, and has no LoRA."""
        return not self._is_text(slot) and self._lora(slot) is None

    def _lora(self, slot: int) -> LaidLora | None:
        adapter = self._running[slot].job.adapter
        assert adapter is None or isinstance(adapter, LaidLora)
        return adapter

    def _prefill(self, part: Prefill) -> Tensor:
        """Read a part of a prompt; the last position's hidden state [H]."""
        prompt = self._running[part.slot].job.prompt
        x = self._vocabulary.prompt(prompt, part.start, part.stop)
        lora = self._lora(part.slot)
        tuned = [TunedRows(lora)] if lora else []
        hidden = self._gpt.prefill(x, self._cache, part.slot, part.start, tuned=tuned)
        return hidden[-1].to(self._plan.device)

    def _decode(self, slots: Sequence[int]) -> dict[int, Tensor]:
        """One position of each slot, each by itself: slot → hidden state [H]."""
        if not slots:
            return {}
        x = torch.stack([self._embedded(slot) for slot in slots])
        positions = [self._running[slot].position for slot in slots]
        tuned = rows_of([self._lora(slot) for slot in slots], self._plan.device)
        hidden = self._gpt.decode(x, self._cache, slots, positions, tuned=tuned)
        return dict(zip(slots, hidden.to(self._plan.device), strict=True))

    def _embedded(self, slot: int) -> Tensor:
        """The last drawn token of a slot as a vector [H]."""
        ids = torch.tensor([self._running[slot].drawn[-1]], device=self._plan.device)
        if self._is_text(slot):
            return self._vocabulary.text(ids[:, 0])[0]
        return self._vocabulary.codes(ids)[0]

    def _decode_block(self, slots: Sequence[int]) -> list[_Drawn]:
        """One position of each slot and what it drew, as one run over the first slots."""
        if not slots:
            return []
        longest = max(self._running[slot].position for slot in slots) + 1
        rows = row_bucket(max(slots) + 1, self._plan.slots)
        made = self._graphed(rows, reach_bucket(longest, self._plan.positions))
        index = torch.tensor(slots, device=self._plan.device)
        tokens, sound, hidden = (part[index] for part in made)
        return self._drawn(slots, tokens, sound, hidden)

    def _step_block(self, rows: int, reach: int) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens [R, C], which rows are sound [R], hidden states [R, H] of the first slots."""
        assert isinstance(self._cache, BlockCache)
        every = torch.arange(rows, device=self._plan.device)
        x = self._vocabulary.codes(self._last[:rows])
        hidden = self._gpt.decode_block(x, self._cache, self._positions[:rows], reach)
        logits = self._vocabulary.code_logits(hidden)
        tokens, sound = draw(
            logits,
            self._rows.at(every),
            self._noise,
            end=self._config.end_token,
            candidates=self._config.num_audio_tokens,
        )
        return tokens, sound, hidden

    def _draw(self, hidden: dict[int, Tensor]) -> list[_Drawn]:
        """Audio codes for slot → hidden state [H]."""
        if not hidden:
            return []
        x = torch.stack(list(hidden.values()))
        logits = self._vocabulary.code_logits(x)
        return self._sample(list(hidden), logits, x, self._config.end_token)

    def _draw_text(self, hidden: dict[int, Tensor]) -> list[_Drawn]:
        """Text ids for slot → hidden state [H]."""
        if not hidden:
            return []
        x = torch.stack(list(hidden.values()))
        return self._sample(list(hidden), self._vocabulary.text_logits(x), x, self._text_end)

    def _sample(
        self, slots: Sequence[int], logits: Tensor, hidden: Tensor, end: int
    ) -> list[_Drawn]:
        index = torch.tensor(slots, device=self._plan.device)
        asked = [self._running[slot].job.sampling.top_k for slot in slots]
        most = logits.shape[-1] if 0 in asked else max(*asked, MIN_KEPT)
        tokens, sound = draw(logits, self._rows.at(index), self._noise, end=end, candidates=most)
        return self._drawn(slots, tokens, sound, hidden)

    def _drawn(
        self, slots: Sequence[int], tokens: Tensor, sound: Tensor, hidden: Tensor
    ) -> list[_Drawn]:
        """What each slot drew, read from the device at once."""
        columns = torch.cat([tokens, sound[:, None]], 1).tolist()
        return [
            _Drawn(slot, self._kind(slot, row[:-1], sound=bool(row[-1])), row[:-1], hidden[i])
            for i, (slot, row) in enumerate(zip(slots, columns, strict=True))
        ]

    def _kind(self, slot: int, tokens: list[int], *, sound: bool) -> OutcomeKind:
        end = self._text_end if self._is_text(slot) else self._config.end_token
        if not sound:
            return "failed"
        return "end" if end in tokens else "token"

    def _record(self, drawn: Sequence[_Drawn]) -> None:
        """Keep what was drawn: for the next step, for the penalty, and to be heard."""
        if not drawn:
            return
        codebooks = self._config.num_vq
        full = [row.tokens * (codebooks // len(row.tokens)) for row in drawn]
        index = torch.tensor([row.slot for row in drawn], device=self._plan.device)
        tokens = torch.tensor(full, device=self._plan.device)
        self._rows.record(index, tokens)
        for row, ids in zip(drawn, full, strict=True):
            running = self._running[row.slot]
            running.drawn.append(ids)
            if running.job.kind == "speech":
                self._renderer.feed(row.slot, row.hidden.clone())
        speech = [i for i, row in enumerate(drawn) if not self._is_text(row.slot)]
        self._last[index[speech]] = tokens[speech]
        self._positions[index] = torch.tensor(
            [self._running[row.slot].position for row in drawn], device=self._plan.device
        )
