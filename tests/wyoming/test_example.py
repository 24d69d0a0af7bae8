"""examples/wyoming_client.py against a live door."""

import os
import subprocess
import sys
from pathlib import Path

import soundfile

from tests.support.tone_listener import listen
from tests.wyoming.conftest import Wyoming

PATH = Path(__file__).parents[2] / "examples" / "wyoming_client.py"


def run(door: Wyoming, path: Path, text: str) -> "subprocess.CompletedProcess[str]":
    host = f"{door.address.host}:{door.address.port}"
    return subprocess.run(
        [sys.executable, PATH, path, text], env={**os.environ, "OLLAMA_TTS_WYOMING_HOST": host},
        check=False, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


def test_a_text_becomes_a_file_that_says_it(wyoming: Wyoming, tmp_path: Path) -> None:
    path = tmp_path / "hello.wav"
    done = run(wyoming, path, "The light is on.")
    assert done.returncode == 0, done.stderr
    samples, rate_hz = soundfile.read(path)
    assert listen(samples, rate_hz).replace(" ", "") == "Thelightison."


def test_a_refusal_is_said(wyoming: Wyoming, tmp_path: Path) -> None:
    done = run(wyoming, tmp_path / "none.wav", "…")
    assert done.returncode == 1
    assert "nothing that can be spoken" in done.stderr
