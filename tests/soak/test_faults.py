"""A server in its own process: a disk that fills, one that is read only, a clock that jumps."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from benchmarks.kills import killed
from benchmarks.served import Served, served

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
SMALL_BYTES = 3_000_000
BIG_BYTES = 12_000_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0 or not _mount(folder, "size=6m"):
        pytest.skip("a small file system can be mounted by root alone")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _mount(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def upload(http: httpx.Client, size_bytes: int) -> httpx.Response:
    data = os.urandom(size_bytes)
    return http.post(f"/api/blobs/sha256:{hashlib.sha256(data).hexdigest()}", content=data)


def speaks(http: httpx.Client, text: str = "Still here.") -> bytes:
    body = {"model": "tone", "prompt": text, "options": {"cache": True}}
    answer = http.post("/api/generate", json=body, headers={"Accept": "audio/pcm"})
    assert answer.status_code == 200, answer.text
    return answer.content


@contextmanager
def client(server: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as http:
        yield http


def test_a_full_disk_is_said_and_what_is_there_goes_on(small_disk: Path, tmp_path: Path) -> None:
    variables = {
        "OLLAMA_MODELS": str(small_disk / "models"),
        "OLLAMA_TTS_CACHE_DIR": str(small_disk / "sounds"),
    }
    with served(tmp_path, **variables) as server, client(server) as http:
        assert upload(http, SMALL_BYTES).status_code == 201
        refused = upload(http, BIG_BYTES)
        assert refused.status_code == 507, refused.text
        assert "space" in refused.json()["error"].lower()
        assert not list((small_disk / "models").rglob(".*.tmp")), "the torn file is still there"
        ballast = small_disk / "ballast"
        _fill(ballast)
        created = http.post("/api/create", json={"model": "x", "from": "tone", "stream": False})
        assert created.status_code == 507, created.text
        assert "x:latest" not in http.get("/api/tags").text
        first = speaks(http)
        ballast.unlink()
        assert speaks(http) == first
        created = http.post("/api/create", json={"model": "x", "from": "tone", "stream": False})
        assert created.json() == {"status": "success"}
        assert http.get("/readyz").status_code == 200


def _fill(path: Path) -> None:
    """Take all space that is left."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def test_a_store_that_becomes_read_only_still_speaks(small_disk: Path, tmp_path: Path) -> None:
    with served(tmp_path, OLLAMA_MODELS=str(small_disk)) as server, client(server) as http:
        assert http.post("/api/copy", json={"source": "tone", "destination": "y"}).is_success
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        try:
            refused = http.post("/api/create", json={"model": "x", "from": "y", "stream": False})
            assert refused.status_code == 500, refused.text
            assert "read-only" in refused.json()["error"].lower()
            assert http.request("DELETE", "/api/delete", json={"model": "y"}).status_code == 500
            assert "y:latest" in http.get("/api/tags").text
            assert speaks(http)
        finally:
            subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
        assert http.request("DELETE", "/api/delete", json={"model": "y"}).status_code == 200


@pytest.mark.skipif(FAKETIME is None, reason="faketime is not installed")
def test_a_clock_that_jumps_unloads_nothing_and_loses_nothing(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    variables = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "OLLAMA_TTS_CACHE_DIR": str(tmp_path / "sounds"),
    }
    with served(tmp_path, **variables) as server, client(server) as http:
        first = speaks(http)
        before = http.get("/api/ps").json()["models"][0]["expires_at"]
        for jump in ("+2d", "-40d", "+0"):
            clock.write_text(jump)
            [loaded] = http.get("/api/ps").json()["models"]
            assert loaded["name"] == "tone:latest"
            if jump != "+0":
                assert loaded["expires_at"][:10] != before[:10], "the clock did not jump"
            assert speaks(http) == first
            assert upload(http, 1000).status_code == 201
            name = f"at{jump[1:]}"
            assert http.post("/api/copy", json={"source": "tone", "destination": name}).is_success
        names = {model["name"] for model in http.get("/api/tags").json()["models"]}
        assert {"at2d:latest", "at40d:latest", "at0:latest"} <= names


@pytest.mark.slow
def test_killed_at_random_moments_nothing_is_half_there_or_lost(tmp_path: Path) -> None:
    known = killed(tmp_path, kills=6, seed=7)
    assert known.wrong == []
    assert known.changes > 0
