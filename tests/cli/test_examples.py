"""Every file of examples/ runs as its first lines say, against a live server."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import soundfile

from tests.cli.conftest import PATIENCE_S, ROOT, Cli

FOLDER = ROOT / "examples"
ELSEWHERE = {"grpc_client.py", "wyoming_client.py"}  # tests/rpc and tests/wyoming, at their doors
JS_CLIENT = "ollama@0.6.4"


@pytest.fixture
def place(online: Cli, tmp_path: Path) -> Mapping[str, str]:
    """The environment of an example: the live server, and `ollama-tts` on the PATH."""
    command = tmp_path / "bin" / "ollama-tts"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ollama_tts "$@"\n')
    command.chmod(0o755)
    host = online.environment["OLLAMA_HOST"].removeprefix("http://")
    return {
        **online.environment,
        "PATH": f"{command.parent}{os.pathsep}{online.environment['PATH']}",
        "OLLAMA_HOST": host,
        "OPENAI_BASE_URL": f"http://{host}/v1",
        "OPENAI_API_KEY": "unused",
    }


def run(place: Mapping[str, str], *command: str, stdin: str = "") -> str:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=place, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def length_s(path: Path) -> float:
    return float(soundfile.info(path).duration)


def test_every_example_is_run_here_and_listed() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.iterdir():
        if path.name not in {"README.md", "__pycache__"}:
            assert f'"{path.name}"' in here or path.name in ELSEWHERE
            assert f"({path.name})" in listed


def test_curl(place: Mapping[str, str], tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    run(place, str(FOLDER / "curl_generate.sh"), str(tmp_path / "a.mp3"))
    assert soundfile.info(tmp_path / "a.mp3").format in {"MP3", "MPEG"}


def test_pipe_to_player(place: Mapping[str, str], tmp_path: Path) -> None:
    player = tmp_path / "bin" / "player"
    player.write_text(f'#!/bin/sh\nexec cat > "{tmp_path}/heard.wav"\n')
    player.chmod(0o755)
    run({**place, "PLAYER": "player"}, str(FOLDER / "pipe_to_player.sh"))
    assert (tmp_path / "heard.wav").read_bytes().startswith(b"RIFF\xff\xff\xff\xffWAVE")


def test_speak_as_written(place: Mapping[str, str], tmp_path: Path) -> None:
    text = "A story. It has three sentences. This is the last."
    run(place, str(FOLDER / "speak_as_written.sh"), str(tmp_path / "a.wav"), stdin=text)
    assert length_s(tmp_path / "a.wav") > 2


def test_ollama_python_stream(place: Mapping[str, str], tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    printed = run(place, sys.executable, str(FOLDER / "ollama_python_stream.py"), str(path))
    assert printed.splitlines()[-1].endswith("done")
    data = path.read_bytes()
    assert data.startswith(b"RIFF")
    assert len(data) > 50_000


def test_ollama_python_async(place: Mapping[str, str], tmp_path: Path) -> None:
    run(place, sys.executable, str(FOLDER / "ollama_python_async.py"), str(tmp_path))
    assert all(length_s(tmp_path / f"{n}.flac") > 0.3 for n in (1, 2, 3))


def test_openai(place: Mapping[str, str], tmp_path: Path) -> None:
    run(place, sys.executable, str(FOLDER / "openai_speech.py"), str(tmp_path / "a.mp3"))
    assert soundfile.info(tmp_path / "a.mp3").format in {"MP3", "MPEG"}


def test_client_batch(place: Mapping[str, str], tmp_path: Path) -> None:
    printed = run(place, sys.executable, str(FOLDER / "client_batch.py"), str(tmp_path))
    assert "line 3:" in printed
    assert [n for n in range(1, 5) if (tmp_path / f"{n}.wav").exists()] == [1, 2, 4]


def test_ollama_js(place: Mapping[str, str], tmp_path: Path) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    npm = ("npm", "install", "--no-audit", "--no-fund", "--prefix", str(tmp_path), JS_CLIENT)
    if subprocess.run(npm, capture_output=True, timeout=PATIENCE_S, check=False).returncode:
        pytest.skip(f"npm cannot install {JS_CLIENT} here")
    script = shutil.copy(FOLDER / "ollama_js_stream.mjs", tmp_path)
    printed = run(place, "node", str(script), str(tmp_path / "a.wav"))
    assert "This is the second sentence." in printed
    assert printed.splitlines()[-1].endswith("s in all")
    assert (tmp_path / "a.wav").read_bytes().startswith(b"RIFF")
