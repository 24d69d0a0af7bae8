"""CUDA graphs of the decode step, one for each number of rows and each reach of attention.

A captured step costs one launch instead of some 200. On a CPU the same function simply runs.
"""

from collections.abc import Callable

import torch
from torch import Tensor

ROW_BUCKETS = (1, 2, 4, 8, 16, 32, 48, 64)
REACH_BUCKET = 256
WARM_RUNS = 2
Step = Callable[[int, int], tuple[Tensor, ...]]


def row_bucket(rows: int, slots: int) -> int:
    """The number of rows that a step over the first `rows` of `slots` slots is run with."""
    return min(slots, next(b for b in ROW_BUCKETS if b >= rows))


def reach_bucket(positions: int, most: int) -> int:
    """How many positions attention reads where the longest row has `positions`."""
    return next(size for size in reach_buckets(most) if size >= positions)


def reach_buckets(most: int) -> list[int]:
    """All values of `reach_bucket` for a cache of `most` positions."""
    sizes = [REACH_BUCKET]
    while sizes[-1] < most:
        sizes.append(sizes[-1] * 2)
    return [min(size, most) for size in sizes]


class GraphedStep:
    """Runs `step(rows, reach)`; on CUDA by replaying its graph.

    `step` reads its inputs from tensors that stay where they are; what it returns for a pair of
    arguments is overwritten by the next call with that pair.
    """

    def __init__(self, step: Step, device: torch.device) -> None:
        self._step = step
        self._device = device
        self._graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...]]] = {}

    def __call__(self, rows: int, reach: int) -> tuple[Tensor, ...]:
        """One step; see the class."""
        if self._device.type != "cuda":
            return self._step(rows, reach)
        key = (rows, reach)
        if key not in self._graphs:
            self._graphs[key] = self._capture(rows, reach)
        graph, made = self._graphs[key]
        graph.replay()
        return made

    def _capture(self, rows: int, reach: int) -> tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...]]:
        """Run a few times beside the main stream, as capturing wants it, then record."""
        side = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_RUNS):
                self._step(rows, reach)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            made = self._step(rows, reach)
        return graph, made
