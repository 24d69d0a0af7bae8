"""A server in a process of its own, all doors open, for scripts that load it or break it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

PATIENCE_S = 60.0


@dataclass(frozen=True)
class Served:
    """A running server: its process, its ports on loopback, and the file of its log."""

    process: "subprocess.Popen[bytes]"
    http_port: int
    grpc_port: int
    wyoming_port: int
    log: Path

    @property
    def url(self) -> str:
        """Of the HTTP door."""
        return f"http://127.0.0.1:{self.http_port}"

    def resident_bytes(self) -> int:
        """Memory that the process holds now, from /proc."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> int:
        """How many files and sockets the process has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


@contextmanager
def served(folder: Path, **variables: str) -> Iterator[Served]:
    """A server with its store in `folder`; `variables` go into its environment.

    Raises:
        RuntimeError: It was not ready within a minute.
    """
    http_port, grpc_port, wyoming_port = free_ports(3)
    environment = {
        **os.environ,
        "OMP_WAIT_POLICY": "PASSIVE",
        "OLLAMA_MODELS": str(folder / "models"),
        "OLLAMA_HOST": f"127.0.0.1:{http_port}",
        "OLLAMA_TTS_GRPC_HOST": f"127.0.0.1:{grpc_port}",
        "OLLAMA_TTS_WYOMING_HOST": f"127.0.0.1:{wyoming_port}",
        **variables,
    }
    log = folder / "server.log"
    command = [sys.executable, "-m", "ollama_tts", "serve"]
    with (
        log.open("ab") as written,
        subprocess.Popen(command, env=environment, stdout=written, stderr=written) as process,
    ):
        try:
            server = Served(process, http_port, grpc_port, wyoming_port, log)
            _wait(server)
            yield server
        finally:
            _end(process)


def _wait(server: Served) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s and server.process.poll() is None:
        try:
            if httpx.get(f"{server.url}/readyz", trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.02)
    raise RuntimeError(f"the server did not come up: {server.log.read_text()[-2000:]}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
