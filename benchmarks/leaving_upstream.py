"""How long after a caller hangs up does the Ollama behind this server know?

    python -m benchmarks.leaving_upstream [--rounds 100]

A scripted Ollama writes some tokens and stands still. The caller, passed on to it or hearing its
words spoken, hangs up in the middle; measured is the time until the request there is closed, all
in one process. The aim is 100 ms.
"""

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import httpx

from tests.support.live import LiveServer, serving, settings_for
from tests.support.upstream import FakeOllama, Wait
from tests.support.wire import wire

LLM = "qwen3:latest"


def leave(front: LiveServer, behind: FakeOllama, model: str) -> float:
    """One caller; milliseconds from its leaving to the upstream's knowing."""
    before = behind.left
    with wire(front.address) as connection:
        connection.post("/api/generate", {"model": model, "prompt": "Hi"})
        connection.head()
        connection.chunk()
        left_s = time.perf_counter()
    behind.until(lambda it: it.left > before)
    return (time.perf_counter() - left_s) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    script = ["Good morning to you. It is nine. ", Wait()]
    with FakeOllama({LLM: script}).up() as behind, tempfile.TemporaryDirectory() as folder:
        settings = replace(settings_for(Path(folder)), upstream=behind.url)
        with serving(settings) as front:
            body = {"model": "talker", "from": "tone", "parameters": {"llm": "qwen3"}}
            httpx.post(f"{front.url}/api/create", json=body, timeout=60).raise_for_status()
            for what, model in (("passed on", "qwen3"), ("spoken", "talker")):
                times_ms = sorted(leave(front, behind, model) for _ in range(rounds))
                p99_ms = times_ms[min(rounds - 1, rounds * 99 // 100)]
                print(f"{what:10} median {statistics.median(times_ms):6.1f} ms, "
                      f"p99 {p99_ms:6.1f} ms, worst {times_ms[-1]:6.1f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
