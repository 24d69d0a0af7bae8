"""examples/grpc_client.py against a live door, and its parts against what can go wrong."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import grpc
import numpy as np
import pytest
import soundfile

from ollama_tts.protocol.pb.tts_pb2 import FLUSH, TtsResponse
from tests.rpc.conftest import open_rpc
from tests.support.rpc import Rpc, decoded
from tests.support.tone_listener import listen

PATH = Path(__file__).parents[2] / "examples" / "grpc_client.py"
PACKET = 960


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("grpc_client", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def address(rpc: Rpc) -> str:
    return f"127.0.0.1:{rpc.doors.open['grpc'].address.port}"


def test_texts_become_files_that_say_them(rpc: Rpc, tmp_path: Path) -> None:
    texts = [f"Number {number}" for number in ("one", "two", "three")]
    subprocess.run(
        [sys.executable, PATH, "tone", tmp_path, *texts],
        env={
            **os.environ,
            "PYTHONPATH": str(PATH.parents[1]),
            "OLLAMA_TTS_GRPC_HOST": address(rpc),
        },
        check=True,
        timeout=100,
    )
    for number, text in enumerate(texts, 1):
        samples, rate_hz = soundfile.read(tmp_path / f"{number}.wav")
        assert listen(samples, rate_hz).replace(" ", "") == text.replace(" ", "")


def test_lost_packets_become_silence_of_their_length(example: ModuleType, rpc: Rpc) -> None:
    stream = rpc.stream({"audio_format": "opus"}, text="some sound to lose").close()
    responses = [*stream]
    lost = {10, 11, 12, 30}
    kept = [response for response in responses if response.seq not in lost]
    whole = decoded(responses)
    filled = np.frombuffer(b"".join(example.sound(kept)), np.int16)
    assert len(filled) == len(whole)
    for seq in range(len(responses) - 1):
        assert (seq in lost) == (not filled[seq * PACKET : (seq + 1) * PACKET].any())
    assert np.array_equal(filled[: 10 * PACKET], whole[: 10 * PACKET])


def test_a_full_server_is_tried_again_when_it_says(example: ModuleType, tmp_path: Path) -> None:
    with open_rpc(tmp_path / "models", max_queue=1, num_parallel=1) as rpc:
        slow = {"tone_rate": "1.0"}
        blocking = [rpc.stream(slow, text="Slow. " * 500, control=FLUSH) for _ in range(2)]
        rpc.live.until(lambda node: node.scheduler.queue_depth == 1)
        waits_s: list[float] = []

        def wait(seconds: float) -> None:
            waits_s.append(seconds)
            if len(waits_s) == 2:
                for stream in blocking:
                    stream.call.cancel()
                rpc.live.until(lambda node: node.scheduler.queue_depth == 0)

        pool = example.Pool(address(rpc), size=2)
        responses: list[TtsResponse] = [*example.speak(pool, "tone", "finally", sleep=wait)]
        pool.close()
        assert listen(decoded(responses) / 32768, 48_000) == "finally"
        assert len(waits_s) == 2
        assert min(waits_s) >= 1, "the server asked for a second at least"


def test_what_would_fail_again_is_not_tried_again(example: ModuleType, rpc: Rpc) -> None:
    pool = example.Pool(address(rpc))
    with pytest.raises(grpc.RpcError, match="NOT_FOUND"):
        [*example.speak(pool, "nobody", "text", sleep=pytest.fail)]
    pool.close()
