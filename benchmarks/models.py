"""Models on the move: pull and push against curl, from and to one registry. One run, medians.

    python benchmarks/models.py [--json] [--megabytes 512] [--rounds 5]

Debian's `docker-registry` listens on loopback; `ollama-tts serve`, asked over its own API, pulls
from it and pushes to it. In turn, each round:

1. `curl -o FILE` of the model's one large blob: nothing is checked, nothing surely on the disk.
2. The same, then `sha256sum` and `sync FILE`: what a pull promises.
3. `POST /api/pull`, from the request to `success`.
4. `curl -T`, a blob in one piece that the registry does not have yet.
5. `POST /api/push` of a model whose blob it does not have yet.

At the end a server is killed with kill -9 when half of the blob has come, and the next one pulls.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent))

from ollama_tts.names import Digest
from ollama_tts.registry.download import Cut
from ollama_tts.store.store import Store
from tests.support.docker_registry import docker_registry, unavailable
from tests.support.loopback import free_port
from tests.support.relay import Relay
from tests.support.stores import commit


@contextmanager
def server(models_dir: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """`ollama-tts serve` over a store; gives a client that reaches it, and the process."""
    host = f"127.0.0.1:{free_port()}"
    env = {**os.environ, "OLLAMA_HOST": host, "OLLAMA_MODELS": str(models_dir)}
    command = [sys.executable, "-m", "ollama_tts", "serve"]
    with (
        subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process,
        httpx.Client(base_url=f"http://{host}", timeout=600) as client,
    ):
        try:
            _until_up(client)
            yield client, process
        finally:
            process.terminate()


def _until_up(client: httpx.Client, patience_s: float = 60) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            client.get("/api/version")
        except httpx.TransportError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit("ollama-tts serve did not come up")


class Bench:
    """A registry, a server, and a folder for what curl fetches and sends."""

    def __init__(self, registry: str, client: httpx.Client, folder: Path, size: int) -> None:
        self.registry = registry
        self.client = client
        self.file = folder / "curl"
        self.store = Store(folder / "models")
        self.size = size
        self.name = self.model("m")
        self.tell("push", self.name)

    def model(self, name: str) -> str:
        """The full name of a new model around random bytes; `blob` is their digest."""
        full = f"{self.registry}/bench/{name}"
        data = os.urandom(self.size)
        self.blob = Digest.of(data)
        commit(self.store, full, {"weights.bin": data})
        return full

    def tell(self, doing: str, name: str) -> float:
        """Seconds that a pull or push took."""
        began = time.perf_counter()
        asked = {"model": name, "insecure": True, "stream": False}
        answer = self.client.post(f"/api/{doing}", json=asked)
        took = time.perf_counter() - began
        if answer.json() != {"status": "success"}:
            raise SystemExit(f"{doing}: {answer.text}")
        return took

    def forget(self, name: str) -> None:
        """Delete a model of the server's store."""
        self.client.request("DELETE", "/api/delete", json={"model": name}).raise_for_status()


def timed(*commands: list[str]) -> float:
    """Seconds that commands took, one after the other."""
    began = time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def fetching(bench: Bench, weights: Digest) -> dict[str, float]:
    """Seconds of one round of fetching."""
    url = f"http://{bench.registry}/v2/bench/m/blobs/{weights}"
    curl = ["curl", "-sSf", "-o", str(bench.file), url]
    checks = (["sha256sum", str(bench.file)], ["sync", str(bench.file)])
    took = {}
    for what, commands in (("curl", (curl,)), ("curl, checked, on disk", (curl, *checks))):
        bench.file.unlink(missing_ok=True)
        took[what] = timed(*commands)
    bench.forget(bench.name)
    took["pull"] = bench.tell("pull", bench.name)
    return took


def sending(bench: Bench, number: int) -> dict[str, float]:
    """Seconds of one round of sending."""
    fresh = os.urandom(bench.size)
    bench.file.write_bytes(fresh)
    begun = httpx.post(f"http://{bench.registry}/v2/bench/curl/blobs/uploads/")
    where = f"{begun.headers['Location']}&digest={Digest.of(fresh)}"
    binary = ["-H", "Content-Type: application/octet-stream"]
    took = {"curl -T": timed(["curl", "-sSf", *binary, "-T", str(bench.file), where])}
    name = bench.model(f"sent{number}")
    took["push"] = bench.tell("push", name)
    bench.forget(name)
    return took


def killed(registry: str, models_dir: Path, weights: Digest, size: int) -> dict[str, float]:
    """What a kill -9 half-way costs, in parts: of what the server had told as completed, and of
    all that the registry sends, what lay in the kernel's buffers included."""
    part = Cut().part_of(size)
    with Relay(registry).running() as relay:
        name = f"{relay.host}/bench/m"
        with server(models_dir) as (client, process), ThreadPoolExecutor(1) as pool:
            pulling = pool.submit(completed, client, name, weights)
            while relay.down < size // 2:
                time.sleep(0.002)
            process.kill()
            told = max(pulling.result())
        sent = relay.down
        relay.release()
        with server(models_dir) as (client, _):
            found = completed(client, name, weights)
        sent += relay.down
    assert found[-1] == size
    again = {"told": max(0, told - min(found)), "sent": sent - size}
    return {f"parts {what} twice, kill -9": round(count / part, 2) for what, count in again.items()}


def completed(client: httpx.Client, name: str, weights: Digest) -> list[int]:
    """How much of a blob the lines of a pull call completed; ends early if the server does."""
    found: list[int] = []
    with (
        suppress(httpx.TransportError),
        client.stream("POST", "/api/pull", json={"model": name, "insecure": True}) as answer,
    ):
        lines = map(json.loads, answer.iter_lines())
        mine = (line for line in lines if line.get("digest") == str(weights))
        found.extend(line["completed"] for line in mine if line.get("completed"))
    return found


def rates(rounds: list[dict[str, float]], size: int) -> dict[str, float]:
    """Median MB/s of each way, and ours as a share of curl's within the same round."""
    found = {
        what: round(statistics.median(size / took[what] / 1e6 for took in rounds), 1)
        for what in rounds[0]
    }
    for ours, theirs in (("pull", "curl"), ("pull", "curl, checked, on disk"), ("push", "curl -T")):
        share = statistics.median(took[theirs] / took[ours] for took in rounds)
        found[f"{ours} / {theirs}"] = round(share, 3)
    return found


def measure(megabytes: int, rounds: int) -> dict[str, float]:
    """All figures."""
    size = megabytes * 1024**2
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with (
            docker_registry(root, basic=False) as registry,
            server(root / "models") as (client, _),
        ):
            bench = Bench(registry, client, root, size)
            weights = bench.blob
            fetching(bench, weights)  # warm: caches, connections
            taken = [fetching(bench, weights) | sending(bench, number) for number in range(rounds)]
            lost = killed(registry, root / "other", weights, size)
    return rates(taken, size) | lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if missing := unavailable():
        raise SystemExit(missing)
    found = measure(asked.megabytes, asked.rounds)
    if asked.json:
        print(json.dumps(found))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d}")
    for what, value in found.items():
        print(f"{what:32} {value}")


if __name__ == "__main__":
    main()
