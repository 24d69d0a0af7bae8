"""`Sounding`: the sound of one turn as responses, 20 ms packets of Opus or blocks of samples."""

import time
from collections.abc import Iterator

import numpy as np

from ollama_tts.audio.packets import PACKET_S, OpusPackets
from ollama_tts.protocol.pb.tts_pb2 import TtsResponse
from ollama_tts.service.events import AudioChunk

MAX_PCM_BYTES = 32 * 1024
"""Most sound of one response: far below what clients take by default (4 MiB)."""

_SAMPLE_BYTES = 2


class Sounding:
    """Responses of one turn, in order. Sound is encoded as it is asked for.

    `opus` False leaves the samples as they are.
    """

    def __init__(self, turn: int, *, opus: bool) -> None:
        self.turn = turn
        self._opus = opus
        self._packets: OpusPackets | None = None
        self._rate_hz = 0
        self._samples = 0
        self._seq = 0
        self._text: AudioChunk | None = None

    def start(self, sample_rate_hz: int) -> None:
        """The turn's sound begins."""
        self._rate_hz = sample_rate_hz
        self._packets = OpusPackets(sample_rate_hz) if self._opus else None

    def chunk(self, chunk: AudioChunk) -> Iterator[TtsResponse]:
        """Responses for signed 16-bit samples, with the text that begins to sound."""
        if chunk.text:
            self._text = chunk
        if self._packets is not None:
            packets = self._packets.feed(np.frombuffer(chunk.data, "<i2"))
            yield from self._opus_responses(packets)
            return
        for start in range(0, len(chunk.data), MAX_PCM_BYTES):
            data = chunk.data[start : start + MAX_PCM_BYTES]
            yield self._sound(TtsResponse(pcm=data), len(data) // _SAMPLE_BYTES)

    def rest(self) -> Iterator[TtsResponse]:
        """The responses that were held back for want of sound to fill a packet."""
        if self._packets is not None:
            yield from self._opus_responses(self._packets.finish())

    def end(self, done_reason: str = "") -> TtsResponse:
        """The turn's last response."""
        return self._numbered(TtsResponse(is_final=True, done_reason=done_reason))

    def _opus_responses(self, packets: Iterator[bytes]) -> Iterator[TtsResponse]:
        for packet in packets:
            yield self._sound(TtsResponse(opus=packet), round(PACKET_S * self._rate_hz))

    def _sound(self, response: TtsResponse, samples: int) -> TtsResponse:
        response.start_s = self._samples / self._rate_hz
        response.duration_s = samples / self._rate_hz
        response.sample_rate = self._rate_hz
        self._samples += samples
        if (text := self._text) is not None:
            self._text = None
            response.text = text.text
            response.text_start, response.text_end = text.text_start, text.text_end
        return self._numbered(response)

    def _numbered(self, response: TtsResponse) -> TtsResponse:
        response.turn = self.turn
        response.seq = self._seq
        response.server_ts = time.time_ns() // 1000
        self._seq += 1
        return response
