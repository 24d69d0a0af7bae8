"""The serving process, from outside: it comes up, it drains, it says why it cannot start."""

import asyncio
import errno
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ollama_tts.config import Address
from ollama_tts.server.run import Complaints
from tests.support.live import serving, settings_for
from tests.support.loopback import free_port
from tests.support.wire import lines_of, wire

PROGRAM = """
import sys
from ollama_tts.config import Settings
from ollama_tts.errors import OllamaTTSError
from ollama_tts.server.run import serve
try:
    serve(Settings.from_env())
except OllamaTTSError as error:
    sys.exit(f"Error: {error}")
"""


def start(tmp_path: Path, host: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={"OLLAMA_HOST": host, "OLLAMA_MODELS": str(tmp_path / "models"), "PATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def running(tmp_path: Path, host: str) -> Iterator["subprocess.Popen[str]"]:
    """A serving process that has said that it listens."""
    process = start(tmp_path, host)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "listening on" in line:
                break
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "http://127.0.0.1:{}/", ":{}", "localhost:{}"])
def test_forms_of_the_address(form: str, tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path, form.format(port)):
        assert httpx.get(f"http://127.0.0.1:{port}/").text == "Ollama is running"


def test_a_second_server_on_the_port_fails_with_the_address(tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path, f"127.0.0.1:{port}"):
        second = start(tmp_path, f"127.0.0.1:{port}")
        _, said = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"Error: listen tcp 127.0.0.1:{port}: bind: address already in use" in said


@pytest.mark.parametrize("host", ["0.0.0.0:99999", "host:port"])
def test_a_bad_port_stops_the_start_with_the_value(host: str, tmp_path: Path) -> None:
    process = start(tmp_path, host)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert repr(host) in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_a_running_answer_end(number: signal.Signals, tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path, f"127.0.0.1:{port}") as process:
        with wire(Address("127.0.0.1", port)) as connection:
            body = {"model": "tone", "prompt": "A text of some seconds, said to its end.",
                    "options": {"tone_rate": 1.0}}  # fmt: skip
            connection.post("/api/generate", body)
            connection.head()
            first = connection.chunk()
            process.send_signal(number)
            lines = lines_of(first + b"".join(connection.chunks()))
        assert lines[-1]["done"] is True
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert said.rstrip().endswith("stopped")


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    port = free_port()
    body = {"model": "tone", "prompt": "Long. " * 1000, "options": {"tone_rate": 1.0}}
    with (
        running(tmp_path, f"127.0.0.1:{port}") as process,
        wire(Address("127.0.0.1", port)) as connection,
    ):
        connection.post("/api/generate", body)
        connection.head()
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        while "Waiting for" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("stream", [True, False])
def test_what_outlasts_the_drain_leaves_one_line(
    stream: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"model": "tone", "prompt": "Long. " * 1000, "options": {"tone_rate": 1.0}}
    with serving(settings_for(tmp_path)) as live, wire(live.address) as connection:
        connection.post("/api/generate", {**body, "stream": stream})
        if stream:
            connection.head()
        live.until(lambda node: node.scheduler.active > 0)
        live.leave(patience_s=1)
        if stream:
            with pytest.raises(EOFError):
                list(connection.chunks())
        else:
            assert connection.answer()[0] == 503
    lines = [line.getMessage() for line in caplog.records if line.levelname == "WARNING"]
    assert lines.count("given up: the server stops") == 1
    assert not [line for line in caplog.records if line.exc_info or "ASGI" in line.getMessage()]


def resident_bytes(process: "subprocess.Popen[str]") -> int:
    """Memory of a process at its highest so far."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_far_over_the_limit_costs_no_memory(chunked: bool, tmp_path: Path) -> None:
    port, size = free_port(), 64 * 1024 * 1024
    with running(tmp_path, f"127.0.0.1:{port}") as process:
        url = f"http://127.0.0.1:{port}"
        assert httpx.post(f"{url}/api/generate", json={"model": "tone", "prompt": "Hi."}).is_success
        before = resident_bytes(process)
        blocks = (b"x" * 65536 for _ in range(size // 65536))
        content = blocks if chunked else b"".join(blocks)
        answer = httpx.post(f"{url}/api/generate", content=content, timeout=60)
        assert answer.status_code == 413
        assert resident_bytes(process) - before < 20 * 1024 * 1024


def test_a_lack_of_open_files_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now_s = [0.0]
    complaints = Complaints(lambda: now_s[0])
    loop = asyncio.new_event_loop()
    for now_s[0] in (0.0, 1.0, 59.0, 61.0):
        complaints(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "too many")})
    assert caplog.text.count("no more open files") == 2
    complaints(loop, {"message": "something else broke"})
    assert "something else broke" in caplog.text
    loop.close()
