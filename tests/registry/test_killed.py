"""A pull that is killed goes on in the next process."""

import asyncio
import subprocess
import sys
from pathlib import Path

from ollama_tts.names import Digest
from tests.registry.conftest import Placed
from tests.support.loopback import Fault
from tests.support.pulls import PART_BYTES
from tests.support.registry import FakeRegistry

ROOT = Path(__file__).parents[2]
PARALLEL = 3
WEIGHTS = bytes(range(256)) * 256 * 20  # twenty parts
DIGEST = Digest.of(WEIGHTS)


def pull_and_kill(registry: FakeRegistry, models_dir: Path, name: str) -> None:
    command = [sys.executable, "-m", "tests.support.killed_transfer", "pull", str(models_dir), name]
    with subprocess.Popen(command, cwd=ROOT) as process:
        registry.until_stalled(PARALLEL)
        process.kill()


async def test_what_is_fetched_again_after_kill_9_is_less_than_a_part(
    registry: FakeRegistry, placed: Placed, tmp_path: Path
) -> None:
    assert len(WEIGHTS) == 20 * PART_BYTES
    registry.put("ns/m", "v1", {"a.safetensors": WEIGHTS}, b'{"model_format":"tone"}')
    name = f"http://{registry.host}/ns/m:v1"
    late, bit = 12 * PART_BYTES, PART_BYTES // 4
    registry.faults.append(Fault(str(DIGEST), times=1000, stall_at=bit, from_byte=late))
    await asyncio.to_thread(pull_and_kill, registry, tmp_path / "here" / "models", name)
    here = placed()
    assert here.names() == set()
    assert len(here.partials()) == 2
    registry.release()
    path = f"/v2/ns/m/blobs/{DIGEST}"
    before = registry.sent.pop(path)
    assert before == late + PARALLEL * bit
    lines = await here.pull(name)
    begun = next(line for line in lines if line.digest == str(DIGEST) and line.completed)
    assert begun.completed >= late
    assert before + registry.sent[path] <= len(WEIGHTS) + PART_BYTES
    assert here.store.blobs.path(DIGEST).read_bytes() == WEIGHTS
    assert here.partials() == []
