"""Loading and unloading, many times over, gives all memory back."""

import gc
import os
from pathlib import Path

import pytest

from ollama_tts.backends.chattts.weights import Checkpoint, directory
from tests.backends.chattts.test_backend import load
from tests.support.checkpoints import TINY, write

SETTLE = 60


def resident_bytes() -> int:
    """What of this process is in memory, after the collector ran."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def once(checkpoint: Checkpoint, backend: str) -> None:
    await load(checkpoint, backend=backend, quantization="fp32").close()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", ["torch", "native"])
async def test_memory_is_flat_over_500_loads(tiny: Checkpoint, backend: str) -> None:
    for _ in range(SETTLE):
        await once(tiny, backend)
    before = resident_bytes()
    for _ in range(500):
        await once(tiny, backend)
    assert resident_bytes() <= 1.02 * before


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_memory_is_flat_over_200_switches(tiny: Checkpoint, tmp_path: Path) -> None:
    other = Checkpoint(directory(write(tmp_path, TINY, seed=1)))
    for _ in range(SETTLE):
        await once(tiny, "auto")
        await once(other, "torch")
    before = resident_bytes()
    for _ in range(100):
        await once(tiny, "auto")
        await once(other, "torch")
    assert resident_bytes() <= 1.02 * before
