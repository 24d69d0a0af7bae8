"""What a chattts model says is the same samples through every door, so one hearing is all doors'.

`tests/backends/chattts/test_speaks.py` listens to what the model says.
"""

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import grpc
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from websockets.sync.client import connect
from wyoming.audio import AudioChunk
from wyoming.client import AsyncTcpClient
from wyoming.tts import Synthesize, SynthesizeVoice

from ollama_tts.config import Address
from ollama_tts.protocol.pb.tts_pb2 import END
from ollama_tts.server.doors import Doors
from tests.support.live import LiveServer, serving, settings_for
from tests.support.rpc import Stream, sound
from tests.support.services import mini_files
from tests.support.stores import upload

PATIENCE_S = 100
SAID = {
    "anna": ("Good morning, how are you today?", "我想喝一杯热茶。"),
    "ben": ("My brother plays the guitar very well.", "你好，很高兴认识你。"),
}


class Ways:
    """All ways in to one server that holds the models `anna` and `ben`."""

    def __init__(self, live: LiveServer, doors: Doors) -> None:
        self._url = live.url
        self._rpc = f"127.0.0.1:{doors.open['grpc'].address.port}"
        self._wyoming = doors.open["wyoming"].address

    def ndjson(self, model: str, text: str) -> bytes:
        """`/api/generate`, lines as they come."""
        body = {"model": model, "prompt": text, "options": {"audio_format": "pcm"}}
        url = f"{self._url}/api/generate"
        with httpx.stream("POST", url, json=body, timeout=PATIENCE_S) as answer:
            lines = [json.loads(line) for line in answer.iter_lines()]
        assert lines[-1]["done_reason"] == "stop"
        return b"".join(base64.b64decode(line.get("response", "")) for line in lines)

    def raw(self, model: str, text: str) -> bytes:
        """`/api/generate`, the sound alone."""
        body = {"model": model, "prompt": text, "options": {"audio_format": "pcm"}}
        url = f"{self._url}/api/generate"
        answer = httpx.post(url, json=body, headers={"Accept": "audio/pcm"}, timeout=PATIENCE_S)
        return answer.raise_for_status().content

    def openai(self, model: str, text: str) -> bytes:
        """`/v1/audio/speech`."""
        body = {"model": model, "input": text, "voice": model, "response_format": "pcm"}
        answer = httpx.post(f"{self._url}/v1/audio/speech", json=body, timeout=PATIENCE_S)
        return answer.raise_for_status().content

    def websocket(self, model: str, text: str) -> bytes:
        """`/api/speak`, the text letter by letter."""
        url = self._url.replace("http://", "ws://") + "/api/speak"
        parts = []
        with connect(url, max_size=None, proxy=None) as socket:
            start = {"type": "start", "model": model, "options": {"audio_format": "pcm"}}
            for frame in (
                start,
                *({"type": "text", "text": letter} for letter in text),
                {"type": "end"},
            ):
                socket.send(json.dumps(frame))
            while (told := socket.recv(PATIENCE_S)) and '"type":"done"' not in str(told):
                parts += [told] if isinstance(told, bytes) else []
        return b"".join(parts)

    def rpc(self, model: str, text: str) -> bytes:
        """gRPC's Synthesize."""
        with grpc.insecure_channel(self._rpc) as channel:
            stream = Stream(channel)
            stream.send(model=model, text=text, control=END, options={"audio_format": "pcm"})
            return sound([*stream.close()])

    def wyoming(self, model: str, text: str) -> bytes:
        """Wyoming's synthesize."""
        return asyncio.run(self._heard(Synthesize(text=text, voice=SynthesizeVoice(name=model))))

    async def _heard(self, wish: Synthesize) -> bytes:
        address, parts = self._wyoming, []
        client = AsyncTcpClient(address.host, address.port, read_timeout=PATIENCE_S)
        await client.connect()
        try:
            await client.write_event(wish.event())
            while (event := await client.read_event()) and event.type != "audio-stop":
                if AudioChunk.is_type(event.type):
                    parts.append(AudioChunk.from_event(event).audio)
        finally:
            await client.disconnect()
        return b"".join(parts)


@contextmanager
def opened(live: LiveServer) -> Iterator[Doors]:
    async def enter() -> Doors:
        return await Doors(live.node).__aenter__()

    doors = live.run(enter)

    async def leave() -> None:
        doors.drain(now=True)
        await doors.__aexit__(None, None, None)

    try:
        yield doors
    finally:
        live.run(leave)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    given = replace(
        settings_for(tmp_path_factory.mktemp("doors") / "models"),
        grpc_address=Address("127.0.0.1", 0),
        wyoming_address=Address("127.0.0.1", 0),
    )
    with serving(given) as live:
        store = live.read(lambda node: node.store)
        files = {name: str(upload(store, data)) for name, data in mini_files().items()}
        for name in SAID:
            chosen = {"voice": name, "seed": 7, "cache": False}
            made = {"model": name, "files": files, "parameters": chosen, "stream": False}
            answer = httpx.post(f"{live.url}/api/create", json=made, timeout=PATIENCE_S)
            assert answer.is_success, answer.text
        with opened(live) as open_doors:
            yield Ways(live, open_doors)


def samples(pcm: bytes) -> NDArray[np.int16]:
    return np.frombuffer(pcm, "<i2")


@pytest.mark.parametrize("voice", SAID)
def test_every_door_gives_the_same_samples(doors: Ways, voice: str) -> None:
    for text in SAID[voice]:
        first = samples(doors.raw(voice, text))
        assert 1.4 < len(first) / 24_000 < 2.8
        for door in (doors.ndjson, doors.openai, doors.websocket, doors.rpc, doors.wyoming):
            other = samples(door(voice, text))
            np.testing.assert_array_equal(other, first, err_msg=door.__name__)
