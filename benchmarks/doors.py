"""All doors side by side: first byte and chunks a second, against a bare stream of the same bytes.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/doors.py [--clients 1,100] [--rounds 5] [--json]

The voice is `tone` at once (`tone_rate` 0): what is measured is the way from a text to a socket.
`kept` takes the sound from the cache in large pieces; `anew` has it spoken, 0.2 s at a time.
The limit is a bare starlette stream (for gRPC: grpc.aio) of the recorded chunks, under the same
load from the same process, in turns. A chunk is an NDJSON line (40 ms), an HTTP chunk of raw
sound, an event, a binary frame with the text frame before it, a gRPC message. Beside the rates
stands the processor time that each server took for an answer: it says much the same on a machine
that has other work, too.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import grpc
from websockets.sync.client import connect

from ollama_tts.protocol.pb.tts_pb2 import END, TtsRequest

HERE = Path(__file__).parent
SENTENCES = ("A kept answer is the same whoever asks.", "Every door gives the same sound.",
             "The limit writes what was recorded.")  # fmt: skip
TEXT = " ".join(SENTENCES * 9)
DOORS = {
    "ndjson": "/api/generate#*/*",
    "raw": "/api/generate#audio/*",
    "sse": "/api/generate#text/event-stream",
    "websocket": "/api/speak",
    "grpc": "",
}


@dataclass
class Figures:
    door: str
    sound: str
    clients: int
    chunks_per_s: float
    bare_chunks_per_s: float
    ratio: float
    first_p50_ms: float
    first_p99_ms: float
    bare_first_p50_ms: float
    bare_first_p99_ms: float
    cpu_ms: float
    bare_cpu_ms: float
    cpu_ratio: float


@dataclass
class Load:
    """One run of the load generator: seconds, and milliseconds to each first byte.

    `cpu_s`: processor time of the server meanwhile.
    """

    seconds: float
    cpu_s: float
    firsts_ms: list[float]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def connected(port: int, patience_s: float = 60) -> socket.socket:
    deadline = time.perf_counter() + patience_s
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.perf_counter() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def process(command: list[str], env: dict[str, str], ports: tuple[int, int]) -> Iterator[int]:
    """A process that listens on these ports; gives its id."""
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as running:
        try:
            for port in ports:
                connected(port).close()
            yield running.pid
        finally:
            running.terminate()


def request_of(door: str, *, kept: bool) -> bytes:
    options: dict[str, object] = {"cache": kept}
    if door == "websocket":
        start = {"type": "start", "model": "tone", "options": options}
        texts: list[object] = [start, {"type": "text", "text": TEXT}, {"type": "end"}]
        return b"\n".join(json.dumps(frame).encode() for frame in texts)
    if door == "grpc":
        words = {"audio_format": "pcm", "cache": str(kept).lower()}
        message = TtsRequest(model="tone", text=TEXT, control=END, options=words)
        return message.SerializeToString()
    return json.dumps({"model": "tone", "prompt": TEXT, "options": options}).encode()


def recorded(door: str, http_port: int, grpc_port: int, request: bytes) -> list[bytes]:
    """One answer's chunks, as the door gave them."""
    if door == "websocket":
        return socket_frames(http_port, request)
    if door == "grpc":
        with grpc.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
            method = channel.stream_stream("/ollama_tts.v1.Tts/Synthesize")
            return [bytes(message) for message in method(iter([request]))]
    chunks = http_chunks(http_port, DOORS[door], request)
    if door == "raw":
        return chunks
    end = b"\n" if door == "ndjson" else b"\n\n"
    return [part + end for part in b"".join(chunks).split(end) if part]


def socket_frames(port: int, request: bytes) -> list[bytes]:
    frames = []
    with connect(f"ws://127.0.0.1:{port}/api/speak", max_size=None) as link:
        for line in request.splitlines():
            link.send(line.decode())
        while not frames or not frames[-1].startswith(b'{"type":"done"'):
            frame = link.recv()
            frames.append(frame.encode() if isinstance(frame, str) else frame)
    return frames


def http_chunks(port: int, door: str, body: bytes) -> list[bytes]:
    path, _, accept = door.partition("#")
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\nConnection: close\r\n"
    with connected(port) as link:
        link.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = b"".join(iter(lambda: link.recv(1 << 20), b""))
    rest = answer.partition(b"\r\n\r\n")[2]
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        chunks.append(rest[:length])
        rest = rest[length + 2 :]
    return chunks[:-1]


def cpu_s(pid: int) -> float:
    """Processor time of a process so far, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(door: str, server: tuple[int, int], path: str, request: bytes, *amount: int) -> Load:
    """`server`: its process and port. `amount`: clients, and answers of each."""
    pid, port = server
    program = [sys.executable, str(HERE / "doors_load.py")]
    command = [*program, door, str(port), *map(str, amount), path]
    before_s = cpu_s(pid)
    done = subprocess.run(command, input=request, stdout=subprocess.PIPE, check=True)
    told = json.loads(done.stdout)
    return Load(told["seconds"], cpu_s(pid) - before_s, [1000 * first for first in told["firsts"]])


class Bench:
    """A server of ours, and the bare one, while all doors are measured."""

    def __init__(self, rounds: int, answers: int) -> None:
        self._rounds = rounds
        self._answers = answers
        self._ports = free_port(), free_port()
        self._bare_ports = free_port(), free_port()
        self._pid = self._bare_pid = 0

    def run(self, doors: list[str], clients: list[int]) -> Iterator[Figures]:
        with ExitStack() as stack:
            store = stack.enter_context(tempfile.TemporaryDirectory())
            env = {
                **os.environ,
                "OLLAMA_HOST": f"127.0.0.1:{self._ports[0]}",
                "OLLAMA_TTS_GRPC_HOST": f"127.0.0.1:{self._ports[1]}",
                "OLLAMA_MODELS": store,
                "OLLAMA_NUM_PARALLEL": str(max(clients)),
                "OMP_WAIT_POLICY": "PASSIVE",
            }
            command = [sys.executable, "-m", "ollama_tts", "serve"]
            self._pid = stack.enter_context(process(command, env, self._ports))
            for kept in (True, False):
                yield from self._sound(doors, clients, kept=kept)

    def _sound(self, doors: list[str], clients: list[int], *, kept: bool) -> Iterator[Figures]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            counts = {}
            for door in doors:
                request = request_of(door, kept=kept)
                recorded(door, *self._ports, request)
                chunks = recorded(door, *self._ports, request)
                framed = (len(chunk).to_bytes(4, "big") + chunk for chunk in chunks)
                (folder / door).write_bytes(b"".join(framed))
                binary = [chunk for chunk in chunks if not chunk.startswith(b"{")]
                counts[door] = len(binary if door == "websocket" else chunks)
            command = [sys.executable, str(HERE / "doors_bare.py"), str(folder)]
            command += map(str, self._bare_ports)
            bare = process(command, dict(os.environ), self._bare_ports)
            self._bare_pid = stack.enter_context(bare)
            for door in doors:
                for number in clients:
                    yield self._measure(door, number, counts[door], kept=kept)

    def _measure(self, door: str, clients: int, chunks: int, *, kept: bool) -> Figures:
        request = request_of(door, kept=kept)
        which = door == "grpc"
        answers = self._answers if clients > 1 else 10 * self._answers
        amount = clients, answers
        ours: list[Load] = []
        bare: list[Load] = []
        for _ in range(self._rounds):
            server, limit = (
                (self._pid, self._ports[which]), (self._bare_pid, self._bare_ports[which])
            )  # fmt: skip
            ours.append(load(door, server, DOORS[door], request, *amount))
            bare.append(load(door, limit, f"/{door}", request, *amount))
        total = chunks * clients * answers
        our_rate, bare_rate = (
            statistics.median(total / run.seconds for run in runs) for runs in (ours, bare)
        )
        return Figures(
            door,
            "kept" if kept else "anew",
            clients,
            our_rate,
            bare_rate,
            our_rate / bare_rate,
            *(percentile(ours, 50), percentile(ours, 99)),
            *(percentile(bare, 50), percentile(bare, 99)),
            *cpu_ms(ours, bare, clients * answers),
        )


def cpu_ms(ours: list[Load], bare: list[Load], answers: int) -> tuple[float, float, float]:
    """Processor time of an answer, ours and the bare one's, and the limit's share of ours."""
    our_ms, bare_ms = (
        1000 * statistics.median(run.cpu_s for run in runs) / answers for runs in (ours, bare)
    )
    return our_ms, bare_ms, bare_ms / max(our_ms, 1e-9)


def percentile(runs: list[Load], rank: int) -> float:
    firsts = sorted(first for run in runs for first in run.firsts_ms)
    return firsts[min(len(firsts) - 1, len(firsts) * rank // 100)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--clients", default="1,100", help="how many at the same time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--answers", type=int, default=2, help="of each client, in a round")
    parser.add_argument("--doors", default=",".join(DOORS))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    clients = [int(number) for number in arguments.clients.split(",")]
    bench = Bench(arguments.rounds, arguments.answers)
    head = ("door", "sound", "clients", "chunks/s", "bare/s", "ratio",
            "first p50", "p99 ms", "bare p50", "p99 ms", "cpu ms", "bare", "ratio")  # fmt: skip
    print("".join(f"{name:>11}" for name in head), file=sys.stderr)
    figures = []
    for each in bench.run(arguments.doors.split(","), clients):
        figures.append(asdict(each))
        shown = (
            f"{v:11.2f}" if isinstance(v, float) else f"{v:>11}" for v in asdict(each).values()
        )
        print("".join(shown), file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
