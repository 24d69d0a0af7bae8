"""The command line as a process of its own, against a live server or with none."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import pytest

from tests.support.live import LiveServer, serving, settings_for
from tests.support.scripted_http import Script, scripting

ROOT = Path(__file__).parents[2]
PATIENCE_S = 100


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    status: int
    out: bytes
    error: str

    @property
    def text(self) -> str:
        return self.out.decode()


@dataclass(frozen=True, slots=True)
class Running:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def interrupt(self) -> int:
        """Ctrl-C; gives the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_S)

    def end(self, stdin: bytes = b"") -> tuple[bytes, str]:
        """Write the last of its input; give all that is still to come of its output."""
        out, error = self.process.communicate(stdin, PATIENCE_S)
        return out, error.decode()


@dataclass(frozen=True, slots=True)
class Cli:
    """`ollama-tts` with an environment of its own."""

    environment: Mapping[str, str]

    @contextmanager
    def start(self, *arguments: str, **environment: str) -> Generator[Running]:
        """The command, running, its three streams pipes; it is ended with the block."""
        with subprocess.Popen(
            [sys.executable, "-m", "ollama_tts", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # `communicate` would lose what a buffer holds
            env={**self.environment, **environment},
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                yield Running(process, process.stdin, process.stdout, process.stderr)
            finally:
                process.kill()

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Done:
        """The command, run to its end."""
        with self.start(*arguments, **environment) as running:
            out, error = running.process.communicate(stdin, PATIENCE_S)
            return Done(running.process.returncode, out, error.decode())


def environment(**more: str) -> dict[str, str]:
    """The environment without what a developer may have set for Ollama, and no registry."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OLLAMA_")}
    return {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
            "OLLAMA_TTS_REGISTRIES": "nowhere.invalid", **more}  # fmt: skip


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Generator[LiveServer]:
    """One server for all commands, with a store of its own; it may use no registry."""
    settings = settings_for(tmp_path_factory.mktemp("store") / "models")
    with serving(replace(settings, registries=("nowhere.invalid",))) as server:
        yield server


@pytest.fixture(scope="session")
def online(live: LiveServer, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Commands that find the live server. Their own store is an empty folder."""
    store = str(tmp_path_factory.mktemp("unused"))
    return Cli(environment(OLLAMA_HOST=live.url, OLLAMA_MODELS=store))


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cli]:
    """Commands that find no server: the port belongs to a socket that does not listen."""
    store = str(tmp_path_factory.mktemp("store") / "models")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
        yield Cli(environment(OLLAMA_HOST=host, OLLAMA_MODELS=store))


@pytest.fixture(params=["online", "alone"])
def either(request: pytest.FixtureRequest) -> Cli:
    """Each test twice: through the server, and with a node in the command's own process."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Cli)
    return found


@pytest.fixture
def scripted() -> Iterator[Script]:
    """Servers that answer as scripted."""
    with scripting() as start:
        yield start
