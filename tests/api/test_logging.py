"""What a caller wrote is in no log line, through whatever door; ids and durations are."""

import contextlib
import io
import json
import logging
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import httpx
import pytest
from websockets.sync.client import connect

from ollama_tts import logs
from ollama_tts.config import Address
from ollama_tts.protocol.pb.tts_pb2 import END
from ollama_tts.server.doors import Doors
from tests.support.live import LiveServer, serving, settings_for
from tests.support.rpc import Stream

SECRET = "Zanzibar"
GOOD = f"My {SECRET} is a secret. Nobody may read it. Whoever runs the server, too."
LATE = f"{GOOD} " * 3 + f"The Chinese {SECRET}: 秘密。"
EMPTY = "……"
HERE = Address("127.0.0.1", 0)


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """All that is logged meanwhile, as JSON lines."""
    stream = io.StringIO()
    loggers = [logging.getLogger(name) for name in ("ollama_tts", "uvicorn")]
    before = [(log, log.handlers[:], log.propagate, log.level) for log in loggers]
    logs.set_up(debug=False, style="json", stream=stream)
    yield stream
    for log, handlers, propagate, level in before:
        log.handlers[:], log.propagate = handlers, propagate
        log.setLevel(level)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[LiveServer, Doors]]:
    settings = replace(
        settings_for(tmp_path / "models"),
        grpc_address=HERE,
        wyoming_address=HERE,
        default_model="hibari",
    )
    with serving(settings) as live:

        async def enter() -> Doors:
            return await Doors(live.node).__aenter__()

        doors = live.run(enter)

        async def leave() -> None:
            doors.drain(now=True)
            await doors.__aexit__(None, None, None)

        yield live, doors
        live.run(leave)


def through_http(url: str, text: str) -> None:
    message = [{"role": "user", "content": text}]
    doors: tuple[tuple[str, str, object], ...] = (
        ("/api/generate", "", {"model": "hibari", "prompt": text}),
        ("/api/generate", "audio/wav", {"model": "hibari", "prompt": text}),
        ("/api/generate", "text/event-stream", {"model": "hibari", "prompt": text}),
        ("/api/generate", "", {"model": "hibari", "prompt": text, "stream": False}),
        ("/api/chat", "", {"model": "hibari", "messages": message}),
        ("/v1/audio/speech", "", {"model": "hibari", "input": text}),
        ("/v1/audio/speech", "", {"model": "hibari", "input": text, "stream_format": "sse"}),
        ("/synthesize", "", {"text": text}),
        ("/generate", "", {"prompt": text}),
        ("/generate", "", [text, {"prompt": text}]),
        ("/api/cache", "", {"model": "hibari", "prompts": [text]}),
    )
    with httpx.Client(base_url=url, timeout=60) as http:
        for path, accept, body in doors:
            headers = {"Accept": accept or "*/*", "X-Request-Id": "door-http"}
            # raw sound that failed late ends without its end mark
            with contextlib.suppress(httpx.RemoteProtocolError):
                http.post(path, json=body, headers=headers)


def through_socket(live: LiveServer, text: str) -> None:
    with connect(f"ws{live.url[4:]}/api/speak", max_size=None) as link:
        link.send(json.dumps({"type": "start", "model": "hibari"}))
        link.send(json.dumps({"type": "text", "text": text}))
        link.send(json.dumps({"type": "end"}))
        for frame in link:
            if isinstance(frame, str) and json.loads(frame)["type"] in {"done", "error"}:
                return


def through_grpc(doors: Doors, text: str) -> None:
    address = f"127.0.0.1:{doors.open['grpc'].address.port}"
    with grpc.insecure_channel(address) as channel:
        Stream(channel).send(text=text, model="hibari", control=END).close().code()


def through_wyoming(doors: Doors, text: str) -> None:
    asked = json.dumps({"type": "synthesize", "data": {"text": text}}).encode() + b"\n"
    where = ("127.0.0.1", doors.open["wyoming"].address.port)
    with socket.create_connection(where, timeout=60) as link:
        link.sendall(asked)
        heard = b""
        while not any(end in heard for end in (b'"audio-stop"', b'"error"')):
            heard = heard[-20:] + link.recv(65536)


def test_no_door_logs_what_was_said(server: tuple[LiveServer, Doors], written: io.StringIO) -> None:
    live, doors = server
    for text in (GOOD, LATE, EMPTY):
        through_http(live.url, text)
        through_socket(live, text)
        through_grpc(doors, text)
        through_wyoming(doors, text)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    for line in lines:
        whole = json.dumps(line, ensure_ascii=False)
        assert not any(part in whole for part in (SECRET, "秘密", "secret", EMPTY)), whole
    spoken = [line for line in lines if line["message"] == "speech"]
    surfaces = {line["surface"] for line in spoken if line["outcome"] == "ok"}
    assert surfaces >= {
        "generate", "raw", "sse", "chat", "openai", "synthesize", "socket", "grpc", "wyoming",
        "warm",
    }  # fmt: skip
    assert {line["outcome"] for line in spoken} >= {"ok", "client_error"}
    assert any(line["task_id"] == "door-http" for line in spoken)
    for line in spoken:
        assert line["took_s"] >= line["queued_s"] >= 0
        assert line["outcome"] != "ok" or line["took_s"] >= line["first_audio_s"] > 0
