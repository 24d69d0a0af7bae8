"""What the server adds: first audio, chunks a second, start-up. One run, medians.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/serving.py [--json] [--rounds 30]

1. First audio of `hibari` through `/api/generate` (NDJSON) against calling the package directly,
   interleaved, both warm, in two processes on the same machine.
2. Chunks a second of a long streamed answer against a bare starlette stream of the same lines.
3. Time of `import ollama_tts`, of `ollama-tts --help`, and of `python -c pass`.
4. From the start of `ollama-tts serve` to the last byte of its first answer.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank."
LONG = " ".join(f"Sentence number {word} of a long text." for word in ["one", "two", "three"] * 40)

BARE = """
import sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

lines = open(sys.argv[1], "rb").read().splitlines(keepends=True)

async def stream(request):
    await request.body()

    async def body():
        for line in lines:
            yield line

    return StreamingResponse(body(), media_type="application/x-ndjson")

app = Starlette(routes=[Route("/api/generate", stream, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(port: int, store: str) -> dict[str, str]:
    return {
        **os.environ,
        "OLLAMA_HOST": f"127.0.0.1:{port}",
        "OLLAMA_MODELS": store,
        "OMP_WAIT_POLICY": "PASSIVE",
    }


@contextmanager
def process(command: list[str], env: dict[str, str] | None = None) -> Iterator[None]:
    running = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.terminate()
        running.wait()


def connect(port: int, patience_s: float = 60) -> socket.socket:
    deadline = time.perf_counter() + patience_s
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.perf_counter() > deadline:
                raise
            time.sleep(0.005)


def send(port: int, body: dict[str, object], path: str = "/api/generate") -> socket.socket:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    link = connect(port)
    link.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return link


def first_line_s(port: int, seed: int) -> float:
    """Seconds until the first NDJSON line with sound is here."""
    body = {"model": "hibari", "prompt": SENTENCE, "options": {"seed": seed, "cache": False}}
    began = time.perf_counter()
    with send(port, body) as link:
        seen = b""
        while b'"response":"' not in seen:
            seen += link.recv(65536)
        took = time.perf_counter() - began
        while link.recv(1 << 20):
            pass
    return took


def stream_rate(port: int, body: dict[str, object]) -> tuple[float, bytes]:
    """Lines a second of one whole answer, and its bytes."""
    began = time.perf_counter()
    parts = []
    with send(port, body) as link:
        while data := link.recv(1 << 20):
            parts.append(data)
    took = time.perf_counter() - began
    whole = b"".join(parts)
    return whole.count(b'"created_at"') / took, whole


def payload(answer: bytes) -> bytes:
    """The NDJSON lines in a chunked HTTP answer."""
    _, _, rest = answer.partition(b"\r\n\r\n")
    lines = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            break
        lines.append(rest[:length])
        rest = rest[length + 2 :]
    return b"".join(lines)


def added_first_audio(port: int, rounds: int) -> dict[str, float]:
    import hibari
    import numpy as np

    voice = hibari.Hibari()
    next(voice.stream(SENTENCE, 1.0, 0))
    first_line_s(port, 0)
    direct, served = [], []
    for seed in range(1, rounds + 1):
        began = time.perf_counter()
        sound = next(voice.stream(SENTENCE, 1.0, seed))
        direct.append(time.perf_counter() - began)
        assert np.abs(sound).max() > 0.01
        served.append(first_line_s(port, seed))
    return {
        "direct_ms": 1000 * statistics.median(direct),
        "served_ms": 1000 * statistics.median(served),
        "added_ms": 1000 * (statistics.median(served) - statistics.median(direct)),
    }


def chunk_rates(port: int, rounds: int, options: dict[str, object]) -> dict[str, float]:
    body = {"model": "hibari", "prompt": LONG, "options": options}
    stream_rate(port, body)
    _, answer = stream_rate(port, body)
    bare_port = free_port()
    with tempfile.NamedTemporaryFile(suffix=".ndjson") as file:
        file.write(payload(answer))
        file.flush()
        with process([sys.executable, "-c", BARE, file.name, str(bare_port)]):
            stream_rate(bare_port, {})
            ours, bare = [], []
            for _ in range(rounds):
                ours.append(stream_rate(port, body)[0])
                bare.append(stream_rate(bare_port, {})[0])
    lines = payload(answer).count(b"\n")
    return {
        "lines": lines,
        "line_bytes": len(payload(answer)) / lines,
        "ours_per_s": statistics.median(ours),
        "bare_per_s": statistics.median(bare),
        "ratio": statistics.median(ours) / statistics.median(bare),
    }


def run_ms(command: list[str], rounds: int) -> float:
    def once() -> float:
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    once()
    return 1000 * statistics.median(once() for _ in range(rounds))


def start_up(rounds: int) -> dict[str, float]:
    bare = run_ms([sys.executable, "-c", "pass"], rounds)
    return {
        "python_ms": bare,
        "import_ms": run_ms([sys.executable, "-c", "import ollama_tts"], rounds) - bare,
        "help_ms": run_ms([sys.executable, "-m", "ollama_tts", "--help"], rounds) - bare,
    }


def cold_serve(rounds: int) -> dict[str, float]:
    times = []
    for _ in range(rounds):
        port = free_port()
        with tempfile.TemporaryDirectory() as store:
            command = [sys.executable, "-m", "ollama_tts", "serve"]
            began = time.perf_counter()
            with process(command, environment(port, store)):
                stream_rate(port, {"model": "hibari", "prompt": SENTENCE})
                times.append(time.perf_counter() - began)
    return {"cold_serve_to_first_answer_s": statistics.median(times)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as store:
        command = [sys.executable, "-m", "ollama_tts", "serve"]
        with process(command, environment(port, store)):
            parts: dict[str, Callable[[], dict[str, float]]] = {
                "first audio": lambda: added_first_audio(port, arguments.rounds),
                "stream, sound kept": lambda: chunk_rates(port, 10, {"seed": 1}),
                "stream, spoken anew": lambda: chunk_rates(port, 3, {"seed": 1, "cache": False}),
                "start-up": lambda: start_up(10),
                "cold serve": lambda: cold_serve(5),
            }
            figures = {name: measure() for name, measure in parts.items()}
    machine = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    if arguments.json:
        print(json.dumps({"machine": machine, **figures}, indent=1))
        return
    print(machine)
    for part, values in figures.items():
        print(part + ": " + ", ".join(f"{name} {value:.2f}" for name, value in values.items()))


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
