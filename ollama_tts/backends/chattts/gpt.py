"""The Llama that writes audio codes, written out; rows never touch each other.

Letters: R rows, H hidden width, h heads, d head width, T positions. Hidden states are float32
between layers; each product runs in the weights' dtype. Prompts are read in absolute tiles of
`PREFILL_TILE` positions and decode rows in tiles of `decode_tile`, always filled up to full size,
so a row's numbers do not depend on how a prompt was cut or who shares the step.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import GPTConfig
from ollama_tts.backends.chattts.kv_cache import BlockCache, KVCache
from ollama_tts.backends.chattts.linear import Linear, pack
from ollama_tts.backends.chattts.lora import TunedRows
from ollama_tts.backends.chattts.weights import Checkpoint

PREFILL_TILE = 32
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Precision:
    """How numbers are kept. `weights`: fp32 fp16 bf16 int8 int4; products run in `compute`."""

    weights: str
    compute: torch.dtype
    decode_tile: int


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer; `device` is where all of it lies."""

    device: torch.device
    norm_attention: Tensor
    qkv: Linear
    out: Linear
    norm_mlp: Tensor
    gate_up: Linear
    down: Linear

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        matrices = (self.qkv, self.out, self.gate_up, self.down)
        return sum(m.nbytes for m in matrices) + self.norm_attention.nbytes + self.norm_mlp.nbytes


@dataclass(frozen=True, slots=True)
class _Products:
    """The products of one layer, with what some rows' LoRA adds to them."""

    index: int
    tile: int
    tuned: Sequence[TunedRows]

    def __call__(self, part: str, linear: Linear, x: Tensor) -> Tensor:
        made = linear(x, self.tile)
        for rows in self.tuned:
            made = rows.onto(made, self.index, part, (x, self.tile))
        return made


def load_layer(
    checkpoint: Checkpoint, index: int, precision: Precision, device: torch.device
) -> Layer:
    """Layer `index`, q/k/v and gate/up each fused into one matrix."""

    def tensor(name: str) -> Tensor:
        return checkpoint.tensor(layout.GPT, f"layers.{index}.{name}", torch.float32, device)

    def linear(*names: str) -> Linear:
        parts = [tensor(f"{name}_proj.weight") for name in names]
        return Linear(pack(torch.cat(parts), precision.weights, precision.compute))

    return Layer(
        device=device,
        norm_attention=tensor("input_layernorm.weight"),
        qkv=linear("self_attn.q", "self_attn.k", "self_attn.v"),
        out=linear("self_attn.o"),
        norm_mlp=tensor("post_attention_layernorm.weight"),
        gate_up=linear("mlp.gate", "mlp.up"),
        down=linear("mlp.down"),
    )


class GPT:
    """The layers over a cache. `devices` names each layer's device.

    `fused_attention` False computes attention step by step instead of in one kernel.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        precision: Precision,
        devices: Sequence[torch.device],
        *,
        positions: int,
        fused_attention: bool = True,
    ) -> None:
        self.config = checkpoint.config.gpt
        self.precision = precision
        self.layers = [load_layer(checkpoint, i, precision, d) for i, d in enumerate(devices)]
        self._norm = checkpoint.tensor(layout.GPT, "norm.weight", torch.float32, devices[-1])
        self._rope = {d: _rope(self.config, positions, d) for d in set(devices)}
        self._fused = fused_attention

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        return sum(layer.nbytes for layer in self.layers) + self._norm.nbytes

    def prefill(
        self, x: Tensor, cache: KVCache, slot: int, start: int, *, tuned: Sequence[TunedRows] = ()
    ) -> Tensor:
        """Read embeddings float32 [R, H] at positions `start` on; their hidden states [R, H]."""
        made = [
            self._prefill_tile(x[a - start : b - start], cache, slot, a, tuned=tuned)
            for a, b in _tiles(start, start + x.shape[0])
        ]
        return torch.cat(made)

    def _prefill_tile(
        self, x: Tensor, cache: KVCache, slot: int, start: int, *, tuned: Sequence[TunedRows]
    ) -> Tensor:
        """Rows inside one absolute tile of positions."""
        first = start - start % PREFILL_TILE
        stop, end = start + x.shape[0], first + PREFILL_TILE
        positions = torch.arange(start, stop)
        later = torch.arange(end)[None] > torch.arange(first, end)[:, None]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            kv = cache.view(layer, slot)
            kv[0, :, start:stop] = k.transpose(0, 1).to(kv.dtype)
            kv[1, :, start:stop] = v.transpose(0, 1).to(kv.dtype)
            seen = functional.pad(kv[:, :, :stop], (0, 0, 0, end - stop))
            queries = functional.pad(q.transpose(0, 1), (0, 0, start - first, end - stop)).to(
                kv.dtype
            )
            mixed = _attention(queries, seen[0], seen[1], later.to(q.device))
            return mixed[:, start - first : stop - first].transpose(0, 1)

        return self._run(x, positions, attend, PREFILL_TILE, tuned=tuned)

    def decode(
        self,
        x: Tensor,
        cache: KVCache,
        slots: Sequence[int],
        positions: Sequence[int],
        *,
        tuned: Sequence[TunedRows] = (),
    ) -> Tensor:
        """One position of several jobs: embeddings float32 [R, H] → hidden states [R, H].

        Each row attends by itself over exactly the positions it has.
        """

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            rows = [
                self._attend_row(cache.view(layer, slot), at, (q[i], k[i], v[i]))
                for i, (slot, at) in enumerate(zip(slots, positions, strict=True))
            ]
            return torch.stack(rows)

        return self._run(
            x, torch.tensor(positions), attend, self.precision.decode_tile, tuned=tuned
        )

    def _attend_row(self, kv: Tensor, at: int, qkv: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """One row at position `at`, q, k and v [h, d], over kv [2, h, T, d]."""
        q, k, v = qkv
        kv[0, :, at] = k.to(kv.dtype)
        kv[1, :, at] = v.to(kv.dtype)
        query = q[:, None].to(kv.dtype)
        keys, values = kv[0, :, : at + 1], kv[1, :, : at + 1]
        if self._fused:
            mixed = functional.scaled_dot_product_attention(query[None], keys[None], values[None])[
                0
            ]
        else:
            mixed = _attention(query, keys, values, None)
        return mixed[:, 0]

    def decode_block(self, x: Tensor, cache: BlockCache, positions: Tensor, seen: int) -> Tensor:
        """One position of the first R slots, in shapes that do not depend on their lengths.

        `x` float32 [R, H], `positions` int64 [R], all under `seen`. What a slot that is not
        really stepped gets written at its next position is overwritten when it is.
        """
        rows = torch.arange(x.shape[0], device=x.device)
        later = torch.arange(seen, device=x.device)[None] > positions[:, None]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            kv = cache.block(layer)
            kv[0][rows, :, positions] = k.to(kv.dtype)
            kv[1][rows, :, positions] = v.to(kv.dtype)
            keys, values = kv[0, : len(rows), :, :seen], kv[1, : len(rows), :, :seen]
            query, hidden = q[:, :, None].to(kv.dtype), later[:, None, None]
            if self._fused:
                return functional.scaled_dot_product_attention(query, keys, values, ~hidden)[
                    :, :, 0
                ]
            return _attention(query, keys, values, hidden)[:, :, 0]

        return self._run(x, positions, attend, self.precision.decode_tile)

    def _run(
        self,
        x: Tensor,
        positions: Tensor,
        attend: Attend,
        tile: int,
        *,
        tuned: Sequence[TunedRows] = (),
    ) -> Tensor:
        """All layers over rows [R, H] at `positions` [R]; the final norm included."""
        rope = {d: (c[positions.to(d)], s[positions.to(d)]) for d, (c, s) in self._rope.items()}
        for index, layer in enumerate(self.layers):
            product = _Products(index, tile, tuned)
            x = x.to(layer.device)
            qkv = product("qkv", layer.qkv, self._normed(x, layer.norm_attention))
            mixed = attend(index, *self._split(qkv, rope[layer.device]))
            x = x + product("out", layer.out, mixed.float().reshape(x.shape))
            gates = product("gate_up", layer.gate_up, self._normed(x, layer.norm_mlp))
            gate, up = gates.chunk(2, -1)
            x = x + product("down", layer.down, functional.silu(gate) * up)
        return self._normed(x, self._norm)

    def _split(self, qkv: Tensor, rope: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys, turned, and values, each [R, h, d], out of [R, 3 H]."""
        shape = (len(qkv), 3, self.config.num_attention_heads, self.config.head_size)
        q, k, v = qkv.view(shape).unbind(1)
        return _rotated(q, *rope), _rotated(k, *rope), v

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), None, self.config.rms_norm_eps) * weight


def _tiles(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """[start, stop) cut at absolute multiples of the tile."""
    while start < stop:
        end = min(stop, start - start % PREFILL_TILE + PREFILL_TILE)
        yield start, end
        start = end


def _rope(config: GPTConfig, positions: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines of all positions, float32 [T, 1, d]."""
    exponents = torch.arange(0, config.head_size, 2).float() / config.head_size
    angles = torch.outer(torch.arange(positions).float(), 1.0 / config.rope_theta**exponents)
    both = torch.cat([angles, angles], -1)[:, None].to(device)
    return both.cos(), both.sin()


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rows [R, h, d] turned by their positions' angles [R, 1, d]."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def _attention(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None) -> Tensor:
    """softmax(q kᵀ / √d) v over [..., M, d] and [..., T, d]; `hidden` [..., M, T] is left out."""
    scores: Tensor = (q @ k.transpose(-1, -2)).float() * q.shape[-1] ** -0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    mixed: Tensor = scores.softmax(-1).to(v.dtype) @ v
    return mixed
