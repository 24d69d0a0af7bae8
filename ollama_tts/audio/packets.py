"""`OpusPackets`: sound as single Opus packets of 20 ms, for doors that send each one alone.

No container: what an Ogg file says in its header (rate, channels, delay) the door must say.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import av
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from numpy.typing import NDArray

from ollama_tts.audio.compressed import CODECS

PACKET_S: Final = 0.02
"""Seconds of sound in every packet."""

DELAY_S: Final = 0.0065
"""How much later than it was fed a sound comes out of the decoder."""

OPUS_RATES_HZ: Final = CODECS["opus"].rates_hz


class OpusPackets:
    """An Opus encoder whose packets are given one by one; it belongs to one thread at a time.

    Packets are encoded as they are asked for, so whoever stops asking stops the work.

    Raises:
        ValueError: `sample_rate_hz` is not one of `OPUS_RATES_HZ`.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        if sample_rate_hz not in OPUS_RATES_HZ:
            raise ValueError(f"sample rate {sample_rate_hz} Hz must be one of {OPUS_RATES_HZ}")
        codec = av.CodecContext.create("libopus", "w")
        assert isinstance(codec, AudioCodecContext)
        self.sample_rate_hz = sample_rate_hz
        codec.sample_rate = sample_rate_hz
        codec.layout = "mono"
        codec.format = "s16"
        codec.bit_rate = CODECS["opus"].bit_rate(sample_rate_hz)
        codec.time_base = Fraction(1, sample_rate_hz)
        codec.options = {**CODECS["opus"].encoder_options, "frame_duration": "20"}
        codec.open()
        self._codec = codec
        self._block = round(PACKET_S * sample_rate_hz)
        self._rest = np.zeros(0, np.int16)
        self._position = 0

    def feed(self, samples: NDArray[np.int16]) -> Iterator[bytes]:
        """The packets that int16 [N] completes; the rest waits for more."""
        samples = np.concatenate((self._rest, samples))
        cut = len(samples) - len(samples) % self._block
        self._rest = samples[cut:]
        for start in range(0, cut, self._block):
            yield from self._encode(samples[start : start + self._block])

    def finish(self) -> Iterator[bytes]:
        """The packets of what waits, with silence up to a packet's end and the codec's delay."""
        short = -len(self._rest) % self._block
        rest, self._rest = np.pad(self._rest, (0, short)), self._rest[:0]
        if len(rest):
            yield from self._encode(rest)
        for packet in self._codec.encode(None):
            yield bytes(packet)

    def _encode(self, block: NDArray[np.int16]) -> Iterator[bytes]:
        frame = av.AudioFrame.from_ndarray(block[None, :], format="s16", layout="mono")
        frame.sample_rate = self.sample_rate_hz
        frame.time_base = self._codec.time_base
        frame.pts = self._position
        self._position += len(block)
        for packet in self._codec.encode(frame):
            yield bytes(packet)
