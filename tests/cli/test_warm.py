"""`warm`: the lines of a file are there before anyone asks."""

from pathlib import Path

import httpx

from tests.cli.conftest import Cli
from tests.support.live import LiveServer


def test_warm_fills_the_servers_cache(online: Cli, live: LiveServer, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\ufeffPlease hold the line.\n\nGoodbye.\n", encoding="utf-8")
    done = online("warm", str(file), "-m", "tone", "--option", "speed=1.25")
    assert (done.status, done.text) == (0, "")
    assert done.error == "warming\n2 utterances spoken, 0 were there\nsuccess\n"
    body = {"model": "tone", "prompt": "Goodbye.", "stream": False, "options": {"speed": 1.25}}
    answer = httpx.post(f"{live.url}/api/generate", json=body, timeout=60).json()
    assert answer["audio"]["cache_hits"] == 1


def test_warm_names_what_it_cannot_speak(online: Cli) -> None:
    done = online("warm", "-", "-m", "tone", stdin="Ready.\n…\n".encode())
    assert done.status == 1
    assert "text 2: " in done.error
    assert done.error.splitlines()[-1] == "Error: 1 of 2 texts could not be spoken"


def test_warm_needs_a_server(alone: Cli) -> None:
    done = alone("warm", "-", "-m", "tone", stdin=b"Ready.\n")
    assert done.status == 1
    assert "ollama-tts serve" in done.error
