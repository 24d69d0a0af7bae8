"""Ten thousand random requests over a description of the API: no 500, no hang, memory flat."""

import http.client
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.random_requests import PATIENCE_S, call

REQUESTS = 10_000
WARM_UP = 2_000
CALLERS = 4
SEED = 20261130


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """A serving process: its port and its process id."""
    environment = {
        **os.environ,
        "OLLAMA_HOST": "127.0.0.1:0",
        "OLLAMA_MODELS": str(tmp_path / "models"),
        "OLLAMA_TTS_CACHE_BYTES": "1000000",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "ollama_tts", "serve"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    port = 0
    for line in process.stderr:
        if match := re.search(r"listening on 127\.0\.0\.1:(\d+)", line):
            port = int(match[1])
            break
    assert port, "the server did not start"
    drain = ThreadPoolExecutor(1)
    drain.submit(process.stderr.read)
    yield port, process.pid
    process.terminate()
    process.wait(PATIENCE_S)
    drain.shutdown()
    process.stderr.close()


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_ten_thousand_random_requests(server: tuple[int, int]) -> None:
    port, pid = server

    def rounds(first_seed: int, requests: int) -> Counter[int]:
        with ThreadPoolExecutor(CALLERS) as callers:
            each = [
                callers.submit(call, port, first_seed + number, requests // CALLERS)
                for number in range(CALLERS)
            ]
            answers = [answer for caller in each for answer in caller.result()]
        failed = [asked for status, asked in answers if status in {500, 502}]
        assert failed == []
        return Counter(status for status, _ in answers)

    statuses = rounds(SEED, WARM_UP)
    before = resident_bytes(pid)
    statuses += rounds(SEED + 100, REQUESTS - WARM_UP)
    after = resident_bytes(pid)
    assert statuses.total() == REQUESTS
    assert statuses[200] > REQUESTS / 10
    assert after < before * 1.05 + 8 * 1024 * 1024, (before, after)
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    while b"ollama_tts_utterances_active 0.0" not in metrics(link):
        assert time.monotonic() < deadline, "something is still being spoken"
    link.close()


def metrics(link: http.client.HTTPConnection) -> bytes:
    link.request("GET", "/metrics")
    return link.getresponse().read()
