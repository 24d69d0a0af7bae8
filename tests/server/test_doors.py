"""Doors that are shut unless they are asked for, and one process behind all of them."""

import asyncio
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import grpc
import httpx
import pytest
from wyoming.client import AsyncTcpClient
from wyoming.info import Describe

from ollama_tts.config import Address, Settings
from ollama_tts.errors import Failed, InvalidRequest
from ollama_tts.node import Node
from ollama_tts.protocol.pb.tts_pb2 import FLUSH
from ollama_tts.server.doors import Doors, Open, installed
from tests.support.live import settings_for
from tests.support.rpc import Stream, heard

SERVE = """
import sys
BLOCKED = {blocked!r}
for name in BLOCKED:
    sys.modules[name] = None
from ollama_tts.config import Settings
from ollama_tts.errors import OllamaTTSError
from ollama_tts.server.run import serve
try:
    serve(Settings.from_env())
except OllamaTTSError as error:
    sys.exit(f"Error: {{error}}")
finally:
    print("loaded:", sorted(name for name in ("grpc", "wyoming") if sys.modules.get(name)))
"""


def start(tmp_path: Path, environment: dict[str, str], *blocked: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", SERVE.format(blocked=blocked)],
        env={"OLLAMA_HOST": "127.0.0.1:0", "OLLAMA_MODELS": str(tmp_path / "models"), "PATH": "",
             **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ports(process: "subprocess.Popen[str]", count: int) -> dict[str, int]:
    """The ports that a process says it listens on, by what stands behind them in the log."""
    found: dict[str, int] = {}
    assert process.stderr is not None
    while len(found) < count:
        line = process.stderr.readline()
        assert line, "it ended before it listened"
        if match := re.search(r"listening on 127\.0\.0\.1:(\d+) \((\w+)", line):
            found[match[2]] = int(match[1])
    return found


async def test_one_process_behind_all_doors_drains_them_together(tmp_path: Path) -> None:
    doors = {
        "OLLAMA_TTS_GRPC_HOST": "127.0.0.1:0",
        "OLLAMA_TTS_WYOMING_HOST": "127.0.0.1:0",
    }
    process = start(tmp_path, doors)
    try:
        at = ports(process, 3)
        root = f"http://127.0.0.1:{at['version']}/"
        assert (await asyncio.to_thread(httpx.get, root)).text == "Ollama is running"
        async with AsyncTcpClient("127.0.0.1", at["wyoming"], read_timeout=60) as client:
            await client.write_event(Describe().event())
            event = await client.read_event()
            assert event is not None
            assert event.type == "info"
            with grpc.insecure_channel(f"127.0.0.1:{at['grpc']}") as channel:
                options = {"audio_format": "pcm", "tone_rate": "1.0", "pause_ms": "0"}
                stream = Stream(channel).send(model="tone", options=options)
                stream.send(text="Said to its end.", control=FLUSH)
                first = stream.next()
                process.send_signal(signal.SIGTERM)
                assert heard([first, *stream.turn()]).replace(" ", "") == "Saidtoitsend."
                assert stream.code() is grpc.StatusCode.UNAVAILABLE
            assert await client.read_event() is None
        said, logged = process.communicate(timeout=60)
        assert process.returncode == 0, logged
        assert logged.rstrip().endswith("stopped")
        assert "loaded: ['grpc', 'wyoming']" in said
    finally:
        process.kill()
        process.communicate()


def test_without_the_variables_nothing_of_them_is_loaded(tmp_path: Path) -> None:
    process = start(tmp_path, {}, "grpc", "wyoming")
    try:
        [(what, port)] = ports(process, 1).items()
        assert what == "version"
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").is_success
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "loaded: []" in said
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("extra", ["grpc", "wyoming"])
def test_a_missing_extra_is_named(extra: str, tmp_path: Path) -> None:
    variable = f"OLLAMA_TTS_{extra.upper()}_HOST"
    process = start(tmp_path, {variable: "127.0.0.1:0"}, extra)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"Error: {variable} is set, but {extra}" in said
    assert f"pip install 'ollama-tts[{extra}]'" in said


async def test_an_address_in_use_closes_the_doors_that_were_open(tmp_path: Path) -> None:
    free = replace(settings_for(tmp_path / "models"), grpc_address=Address("127.0.0.1", 0))
    async with Node(free) as node, Doors(node) as doors:
        taken = doors.open["grpc"].address
        both = replace(free, wyoming_address=taken)
        async with Node(both) as other:
            with pytest.raises(Failed, match=f"{taken.port}.*in use .OLLAMA_TTS_WYOMING_HOST"):
                await Doors(other).__aenter__()


def test_addresses_of_the_doors() -> None:
    settings = Settings.from_env({"OLLAMA_TTS_GRPC_HOST": "0.0.0.0"})
    assert settings.grpc_address == Address("0.0.0.0", 50051)
    assert settings.wyoming_address is None
    settings = Settings.from_env({"OLLAMA_TTS_WYOMING_HOST": "localhost"})
    assert settings.wyoming_address == Address("localhost", 10200)
    assert Settings.from_env({"OLLAMA_TTS_GRPC_HOST": ":7"}).grpc_address == Address("127.0.0.1", 7)
    with pytest.raises(InvalidRequest, match="OLLAMA_TTS_GRPC_HOST 'x:y': port 'y'"):
        Settings.from_env({"OLLAMA_TTS_GRPC_HOST": "x:y"})


def test_only_what_is_missing_is_called_missing() -> None:
    def broken(name: str) -> Open:
        raise ImportError(name=name)

    with pytest.raises(Failed, match="grpc_health is not installed"):
        installed("grpc", lambda: broken("grpc_health.v1"))
    with pytest.raises(ImportError):
        installed("grpc", lambda: broken("ollama_tts.server.rpc.nowhere"))
