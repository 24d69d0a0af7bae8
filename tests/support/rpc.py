"""gRPC as a client speaks it: streams whose requests are put in while responses come out."""

import queue
from collections.abc import Iterator
from dataclasses import dataclass

import av
import grpc
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from numpy.typing import NDArray

from ollama_tts.protocol.pb.tts_pb2 import TtsRequest, TtsResponse
from ollama_tts.protocol.pb.tts_pb2_grpc import TtsStub
from ollama_tts.server.doors import Doors
from tests.support.live import LiveServer
from tests.support.tone_listener import listen, listen_s16

PATIENCE_S = 60.0
OPUS_OUT_HZ = 48_000


class Stream:
    """One call of Synthesize; requests go in by `send`, responses are iterated."""

    def __init__(self, channel: grpc.Channel, **call: object) -> None:
        self._requests: queue.SimpleQueue[TtsRequest | None] = queue.SimpleQueue()
        call = {"timeout": PATIENCE_S, **call}
        stub = TtsStub(channel)  # type: ignore[no-untyped-call]  # made by protoc
        self.call = stub.Synthesize(iter(self._requests.get, None), **call)

    def send(self, **fields: object) -> "Stream":
        """One more request."""
        self._requests.put(TtsRequest(**fields))  # type: ignore[arg-type]
        return self

    def close(self) -> "Stream":
        """Nothing more is asked."""
        self._requests.put(None)
        return self

    def __iter__(self) -> Iterator[TtsResponse]:
        return iter(self.call)

    def next(self) -> TtsResponse:
        response = next(self.call)
        assert isinstance(response, TtsResponse)
        return response

    def turn(self) -> list[TtsResponse]:
        """The responses up to the next that is final."""
        responses = [self.next()]
        while not responses[-1].is_final:
            responses.append(self.next())
        return responses

    def code(self) -> grpc.StatusCode:
        """How the stream ended; reads it to its end."""
        try:
            for _ in self.call:
                pass
        except grpc.RpcError:
            pass
        code = self.call.code()
        assert isinstance(code, grpc.StatusCode)
        return code


@dataclass(frozen=True)
class Rpc:
    """An open door, the server behind it, and a channel to it."""

    live: LiveServer
    doors: Doors
    channel: grpc.Channel

    def stream(self, options: dict[str, str] | None = None, **fields: object) -> Stream:
        """A stream on the voice `tone`, samples unless the options say otherwise."""
        options = {"audio_format": "pcm", "pause_ms": "0"} | (options or {})
        return Stream(self.channel).send(model="tone", options=options, **fields)

    def errors(self) -> float:
        """Streams so far that ended in an error, read on the server's own loop."""
        value = self.live.node.metrics.registry.get_sample_value("grpc_stream_errors_total")
        return value or 0.0

    async def drain(self) -> None:
        """As on SIGTERM."""
        self.doors.drain()


def sound(responses: list[TtsResponse]) -> bytes:
    return b"".join(response.pcm for response in responses)


def heard(responses: list[TtsResponse]) -> str:
    """The text that `tone` said in responses of samples."""
    rate_hz = next(response.sample_rate for response in responses if response.sample_rate)
    return listen_s16(sound(responses), rate_hz)


def decoded(responses: list[TtsResponse]) -> NDArray[np.int16]:
    """The sound of Opus responses at 48 kHz, each packet decoded alone; 20 ms each."""
    codec = av.CodecContext.create("libopus", "r")
    assert isinstance(codec, AudioCodecContext)
    codec.sample_rate = OPUS_OUT_HZ
    codec.layout = "mono"
    parts = []
    for response in responses:
        if response.opus:
            [frame] = codec.decode(av.Packet(response.opus))
            parts.append(frame.to_ndarray()[0])
            assert len(parts[-1]) == OPUS_OUT_HZ // 50
    return np.concatenate(parts)


def heard_opus(responses: list[TtsResponse]) -> str:
    """The text that `tone` said in Opus responses."""
    return listen(decoded(responses).astype(np.float64) / 32768, OPUS_OUT_HZ)
