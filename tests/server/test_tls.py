"""TLS: HTTP and WebSocket with a self-made certificate, and certificates that are none."""

import json
import ssl
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from ollama_tts.config import Certificate, Settings
from ollama_tts.errors import Failed, InvalidRequest
from ollama_tts.server.tls import read_pem
from tests.support.certificates import make_certificate
from tests.support.live import serving, settings_for
from tests.support.wire import wire

NAMES = {"OLLAMA_TTS_TLS_CERT": "/c.pem", "OLLAMA_TTS_TLS_KEY": "/k.pem"}


def test_http_and_sockets_speak_tls(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(files.chain))
    with serving(replace(settings_for(tmp_path / "models"), tls=files)) as server:
        port = server.address.port
        with httpx.Client(verify=trusted, base_url=f"https://127.0.0.1:{port}") as client:
            sound = client.post("/synthesize", json={"model": "tone", "text": "Hi."})
            assert sound.content.startswith(b"RIFF")
        with connect(f"wss://127.0.0.1:{port}/api/speak", ssl=trusted) as socket:
            for frame in ({"type": "start", "model": "tone"}, {"type": "text", "text": "Hi."}):
                socket.send(json.dumps(frame))
            socket.send('{"type":"end"}')
            assert json.loads(socket.recv())["type"] == "started"
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"https://127.0.0.1:{port}/")
        with wire(server.address) as plain:
            plain.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert plain.ended(), "nothing is said in the clear"


def test_a_certificate_without_its_key_stops_the_start(tmp_path: Path) -> None:
    files, others = make_certificate(tmp_path), make_certificate(tmp_path, "other")
    chain, key = read_pem(files)
    assert b"CERTIFICATE" in chain
    assert b"PRIVATE KEY" in key
    with pytest.raises(Failed, match="OLLAMA_TTS_TLS_CERT and OLLAMA_TTS_TLS_KEY are no"):
        read_pem(Certificate(files.chain, others.key))
    with pytest.raises(Failed, match=r"OLLAMA_TTS_TLS_KEY: .*missing\.pem cannot be read"):
        read_pem(Certificate(files.chain, tmp_path / "missing.pem"))


def test_both_files_or_none() -> None:
    assert Settings.from_env({}).tls is None
    assert Settings.from_env(NAMES).tls == Certificate(Path("/c.pem"), Path("/k.pem"))
    for name in NAMES:
        with pytest.raises(InvalidRequest, match="must be set together"):
            Settings.from_env({name: "/x.pem"})
