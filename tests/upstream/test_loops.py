"""An upstream that is this server itself: refused at the start, or when a request comes back."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from ollama_tts.config import Address, Settings
from ollama_tts.errors import InvalidRequest
from ollama_tts.server.run import serve
from ollama_tts.server.sockets import bind
from ollama_tts.upstream.loops import refuse_loop
from tests.support.live import LiveServer, settings_for


@pytest.mark.parametrize(
    ("url", "listening"),
    [
        ("http://127.0.0.1:11434", [("127.0.0.1", 11434)]),
        ("http://localhost:11434", [("127.0.0.1", 11434)]),
        ("http://127.0.0.1:11434", [("0.0.0.0", 11434)]),
        ("http://127.0.0.1", [("0.0.0.0", 80)]),
        ("https://127.0.0.1/path", [("127.0.0.1", 443)]),
        ("http://[::1]:11434", [("127.0.0.1", 11434), ("::1", 11434)]),
    ],
)
def test_our_own_address_is_refused(url: str, listening: list[tuple[str, int]]) -> None:
    with pytest.raises(InvalidRequest, match="is this server itself"):
        refuse_loop(url, listening)


@pytest.mark.parametrize(
    ("url", "listening"),
    [
        ("", [("127.0.0.1", 11434)]),
        ("http://127.0.0.1:11435", [("127.0.0.1", 11434)]),
        ("http://127.0.0.1:11434", [("127.0.0.2", 11434)]),
        ("http://192.0.2.1:11434", [("0.0.0.0", 11434)]),
        ("http://nobody.invalid:11434", [("0.0.0.0", 11434)]),
    ],
)
def test_others_are_not(url: str, listening: list[tuple[str, int]]) -> None:
    refuse_loop(url, listening)


def test_the_server_does_not_start_behind_itself(tmp_path: Path) -> None:
    (free,) = bind(Address("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    settings = Settings(
        address=Address("0.0.0.0", port),
        models_dir=tmp_path / "models",
        upstream=f"http://localhost:{port}",
    )
    with pytest.raises(InvalidRequest, match="OLLAMA_UPSTREAM"):
        serve(settings)
    bind(settings.address)[0].close()  # nothing is left listening


def test_the_command_says_so_in_one_line(tmp_path: Path) -> None:
    (free,) = bind(Address("127.0.0.1", 0))
    here = f"127.0.0.1:{free.getsockname()[1]}"
    free.close()
    done = subprocess.run(
        [sys.executable, "-m", "ollama_tts", "serve"],
        env={"OLLAMA_HOST": here, "OLLAMA_UPSTREAM": here, "OLLAMA_MODELS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: OLLAMA_UPSTREAM http://{here} is this server itself; let one of the two listen "
        "elsewhere (OLLAMA_HOST)\n"
    )


@pytest.mark.parametrize("length", [1, 2])
def test_a_ring_is_known_when_a_request_comes_back(
    tmp_path: Path, length: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Servers behind each other, of which no address tells."""
    ring = []
    ports = []
    for _ in range(length):
        (free,) = bind(Address("127.0.0.1", 0))
        ports.append(free.getsockname()[1])
        free.close()
    for index, port in enumerate(ports):
        settings = replace(
            settings_for(tmp_path / str(index)),
            address=Address("127.0.0.1", port),
            upstream=f"http://127.0.0.1:{ports[(index + 1) % length]}",
        )
        ring.append(LiveServer(settings))
        ring[-1].start()
    try:
        url = ring[0].url
        answer = httpx.post(f"{url}/api/generate", json={"model": "x", "prompt": "Hi"}, timeout=60)
        assert answer.status_code == 508
        assert answer.json() == {"error": "loop: OLLAMA_UPSTREAM leads back to this server"}
        for path, key in (("/api/tags", "models"), ("/api/ps", "models"), ("/v1/models", "data")):
            listed = httpx.get(url + path, timeout=60)
            assert listed.status_code == 200
            names = [entry.get("name") or entry["id"] for entry in listed.json()[key]]
            assert len(names) == len(set(names))
            assert ("tone:latest" in names) == (path != "/api/ps")
        assert {record.name for record in caplog.records if record.levelname == "WARNING"} == {
            "ollama_tts.upstream.client"
        }
        assert sum("status 508" in record.message for record in caplog.records) == 3
        for server in ring:
            body = {"model": "talker", "from": "tone", "parameters": {"llm": "talker"}}
            made = httpx.post(f"{server.url}/api/create", json=body, timeout=60)
            assert made.text.endswith('{"status":"success"}\n')
        answer = httpx.post(
            f"{url}/api/generate", json={"model": "talker", "prompt": "Hi"}, timeout=60
        )
        assert answer.status_code == 502
        assert "leads back to this server" in answer.json()["error"]
    finally:
        for server in ring:
            server.stop()
