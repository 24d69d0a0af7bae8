"""Texts over gRPC into WAV files: a pool of channels, patience, and silence for lost packets.

pip install 'ollama-tts[grpc]'
OLLAMA_TTS_GRPC_HOST=127.0.0.1:50051 python examples/grpc_client.py hibari FOLDER "One." "Two."
"""

import itertools
import os
import random
import sys
import time
import wave
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import av
import grpc
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status

from ollama_tts.protocol.pb.tts_pb2 import END, TtsRequest, TtsResponse
from ollama_tts.protocol.pb.tts_pb2_grpc import TtsStub

RATE_HZ = 48_000
SILENCE = bytes(2 * RATE_HZ // 50)  # 20 ms
AGAIN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}
ATTEMPTS = 6


class Pool:
    """Some connections, used in turn; one alone would carry at most 100 streams at a time."""

    def __init__(self, address: str, size: int = 4) -> None:
        own = (("grpc.use_local_subchannel_pool", 1),)  # else all channels share one connection
        self._channels = [grpc.insecure_channel(address, own) for _ in range(size)]
        self._stubs = itertools.cycle([TtsStub(channel) for channel in self._channels])

    def synthesize(self, request: TtsRequest, timeout_s: float = 120) -> Iterator[TtsResponse]:
        key = os.environ.get("OLLAMA_TTS_API_KEY", "")
        metadata = (("authorization", f"Bearer {key}"),) if key else ()
        return next(self._stubs).Synthesize(iter([request]), timeout=timeout_s, metadata=metadata)

    def close(self) -> None:
        for channel in self._channels:
            channel.close()


def speak(
    pool: Pool, model: str, text: str, sleep: Callable[[float], None] = time.sleep
) -> Iterator[TtsResponse]:
    """The responses for a text; what fails before its first sound is tried again, ever later."""
    request = TtsRequest(model=model, text=text, control=END)
    for attempt in itertools.count():
        responses = pool.synthesize(request)
        try:
            first = next(responses)
            while first.is_final:  # it only says what the status will say, too
                first = next(responses)
        except StopIteration:
            return
        except grpc.RpcError as error:
            if error.code() not in AGAIN or attempt + 1 == ATTEMPTS:
                raise
            sleep(max(asked_s(error), 0.2 * 2**attempt) * random.uniform(1, 1.5))
            continue
        yield first
        yield from responses
        return


def asked_s(error: grpc.RpcError) -> float:
    """How long the server asks to wait, from google.rpc.RetryInfo in the trailing metadata."""
    status = rpc_status.from_call(error)
    retry = RetryInfo()
    for detail in status.details if status else ():
        if detail.Unpack(retry):
            return retry.retry_delay.ToTimedelta().total_seconds()
    return 0.0


def sound(responses: Iterable[TtsResponse]) -> Iterator[bytes]:
    """20 ms of samples at a time; where `seq` has a gap (a lossy way), as much silence."""
    codec = av.CodecContext.create("libopus", "r")
    codec.sample_rate, codec.layout = RATE_HZ, "mono"
    expected = 0
    for response in responses:
        yield from itertools.repeat(SILENCE, response.seq - expected)
        expected = response.seq + 1
        if response.opus:
            for frame in codec.decode(av.Packet(response.opus)):
                yield frame.to_ndarray().tobytes()


def save(pool: Pool, model: str, text: str, path: Path) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
        for samples in sound(speak(pool, model, text)):
            file.writeframes(samples)
    return path


def main(model: str, folder: Path, texts: list[str]) -> None:
    pool = Pool(os.environ.get("OLLAMA_TTS_GRPC_HOST", "127.0.0.1:50051"))
    paths = [folder / f"{number}.wav" for number in range(1, len(texts) + 1)]
    with ThreadPoolExecutor(8) as workers:
        for path in workers.map(
            lambda job: save(pool, model, *job), zip(texts, paths, strict=True)
        ):
            print(f"{path}: {path.stat().st_size} bytes")
    pool.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:] or ["Hello over gRPC."])
