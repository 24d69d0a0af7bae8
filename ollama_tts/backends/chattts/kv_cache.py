"""Keys and values of the jobs that run: a place for each slot, layer by layer.

`SlotCache` gives each job memory for the positions it may need and takes it back at the end (CPU).
`BlockCache` holds one block for all slots, so that a step over the first n slots is a view of
fixed shape and address (CUDA graphs). Letters: S slots, T positions, h heads, d head width.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from ollama_tts.backends.chattts.config import GPTConfig


class KVCache(Protocol):
    """Where keys and values of a slot lie."""

    def open(self, slot: int, positions: int) -> None:
        """Make room for `positions` of a new job."""

    def close(self, slot: int) -> None:
        """The job of `slot` is over."""

    def view(self, layer: int, slot: int) -> Tensor:
        """Keys and values of one layer: [2, h, T, d], to read and to write."""

    @property
    def nbytes(self) -> int:
        """Bytes it occupies now."""


class SlotCache:
    """Memory for each job by itself, on each layer's own device."""

    def __init__(
        self, config: GPTConfig, dtype: torch.dtype, devices: Sequence[torch.device]
    ) -> None:
        self._heads, self._width = config.num_attention_heads, config.head_size
        self._dtype = dtype
        self._devices = devices
        self._slots: dict[int, list[Tensor]] = {}

    def open(self, slot: int, positions: int) -> None:
        """Make room for `positions` of a new job."""
        shape = (2, self._heads, positions, self._width)
        self._slots[slot] = [torch.empty(shape, dtype=self._dtype, device=d) for d in self._devices]

    def close(self, slot: int) -> None:
        """Give the memory back."""
        self._slots.pop(slot, None)

    def view(self, layer: int, slot: int) -> Tensor:
        """Keys and values of one layer: [2, h, T, d], to read and to write."""
        return self._slots[slot][layer]

    @property
    def nbytes(self) -> int:
        """Bytes of the jobs that run."""
        return sum(t.nbytes for layers in self._slots.values() for t in layers)


class BlockCache:
    """One block [2, S, h, T, d] a layer; a slot that is free holds zeros."""

    def __init__(
        self,
        config: GPTConfig,
        dtype: torch.dtype,
        devices: Sequence[torch.device],
        *,
        slots: int,
        positions: int,
    ) -> None:
        shape = (2, slots, config.num_attention_heads, positions, config.head_size)
        self._layers = [torch.zeros(shape, dtype=dtype, device=device) for device in devices]

    def open(self, slot: int, positions: int) -> None:
        """The room is there already."""

    def close(self, slot: int) -> None:
        """Wipe the slot: what is masked out must still be finite."""
        for layer in self._layers:
            layer[:, slot] = 0

    def view(self, layer: int, slot: int) -> Tensor:
        """Keys and values of one layer: [2, h, T, d], to read and to write."""
        return self._layers[layer][:, slot]

    def block(self, layer: int) -> Tensor:
        """Keys and values of all slots of one layer: [2, S, h, T, d]."""
        return self._layers[layer]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole block."""
        return sum(layer.nbytes for layer in self._layers)
