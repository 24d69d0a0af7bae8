"""What a ChatTTS model of the official size occupies in each precision, and what loading it takes.

    OMP_WAIT_POLICY=PASSIVE python -m benchmarks.memory [--checkpoint DIR] [--json]

Each is loaded in a process of its own. `ps`: what the server tells. `loaded`: growth of the
process's own memory (files mapped in do not count: the system may drop them). `peak`: the most
while it loaded; `ratio`: of peak to loaded.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ollama_tts.backends.chattts.backend import ChatTTSBackend
from ollama_tts.backends.chattts.weights import Checkpoint, directory
from ollama_tts.options import LoadOptions
from tests.support.chattts import stored
from tests.support.checkpoints import FULL, TINY, write

WAYS = [
    *(("native", q) for q in ("fp32", "bf16", "int8")),
    *(("torch", q) for q in ("fp32", "fp16", "bf16", "int8", "int4")),
]
MIB = 2**20


def own_bytes() -> int:
    """Anonymous memory of this process."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    assert found
    return int(found[1]) * 1024


@contextmanager
def peak_bytes(found: list[int]) -> Iterator[None]:
    """Adds the most memory seen within the block, looked at every 5 ms."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            found.append(own_bytes())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


async def weigh(root: Path, backend: str, quantization: str) -> dict[str, object]:
    model = stored(Checkpoint(directory(root)))
    options = LoadOptions(backend=backend, quantization=quantization, num_thread=1)
    with tempfile.TemporaryDirectory() as scratch:  # torch itself is no part of a model
        tiny = stored(Checkpoint(directory(write(Path(scratch), TINY))))
        await ChatTTSBackend().load(tiny, options).close()
    before, seen = own_bytes(), list[int]()
    with peak_bytes(seen):
        runner = ChatTTSBackend().load(model, options)
    loaded, peak, told = own_bytes() - before, max(seen) - before, runner.memory.total_bytes
    await runner.close()
    return {
        "backend": backend, "precision": quantization, "ps_mib": told // MIB,
        "loaded_mib": loaded // MIB, "peak_mib": peak // MIB, "ratio": round(peak / loaded, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(weigh(options.checkpoint, *options.one))))
        return
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        root = options.checkpoint or write(Path(scratch), FULL)
        for way in WAYS:
            command = [sys.executable, "-m", "benchmarks.memory", "--checkpoint", str(root)]
            done = subprocess.run([*command, "--one", *way], capture_output=True, check=True)
            rows.append(json.loads(done.stdout))
            if not options.json:
                print(rows[-1], flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
