"""Compressed sound: MP3, Ogg Opus, FLAC and AAC (ADTS), by FFmpeg's libraries.

Streams leave as early as their codec can: every packet is written at once (Ogg: a page for every
20 ms), to a sink that cannot seek, so no header is ever rewritten. Whole files go through a buffer
that can seek, so that FLAC's total and MP3's frame count, delay and padding are exact.

How much longer than the sound the decoded sound is:

    format  streamed                                  whole
    opus    0 (pre-skip and end trimming)             0
    flac    0                                         0
    mp3     up to 1 frame (its delay is told)         below 1 ms (gapless header)
    aac     1024 samples of delay + up to 1 frame     the same: ADTS has no header to say it in

LAME itself makes MP3 quieter by 0.45 dB, against clipping in the decoder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from types import MappingProxyType
from typing import Final, Protocol

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from numpy.typing import NDArray

from ollama_tts.audio.gapless import info_frame
from ollama_tts.audio.pcm import to_int16

_WIDE_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)


@dataclass(frozen=True, slots=True)
class Codec:
    """How one format is written.

    `rates_hz` empty means any. `bit_rates` holds (highest sample rate in Hz, bits a second)
    pairs, rising; empty for lossless codecs. `sample_format` is FFmpeg's name of what the
    encoder takes. `stream_options` are added to the container's unless the file is whole.
    """

    mime_type: str
    container: str
    encoder: str
    sample_format: str
    rates_hz: tuple[int, ...] = ()
    bit_rates: tuple[tuple[int, int], ...] = ()
    encoder_options: Mapping[str, str] = field(default_factory=dict)
    container_options: Mapping[str, str] = field(default_factory=dict)
    stream_options: Mapping[str, str] = field(default_factory=dict)

    def bit_rate(self, sample_rate_hz: int) -> int:
        """Bits a second at a sample rate; 0 leaves it to the codec."""
        return next((bits for up_to, bits in self.bit_rates if sample_rate_hz <= up_to), 0)


CODECS: Final[Mapping[str, Codec]] = MappingProxyType({
    "mp3": Codec(
        "audio/mpeg", "mp3", "libmp3lame", "s16p", _WIDE_RATES,
        bit_rates=((12000, 48_000), (24000, 64_000), (48000, 96_000)),
        container_options={"id3v2_version": "0"}, stream_options={"write_xing": "0"},
    ),
    "opus": Codec(
        "audio/ogg", "ogg", "libopus", "s16", (8000, 12000, 16000, 24000, 48000),
        bit_rates=((12000, 24_000), (16000, 32_000), (48000, 48_000)),
        encoder_options={"compression_level": "5"},  # half the processor time of 10
        container_options={"page_duration": "20000"},
    ),
    "flac": Codec(
        "audio/flac", "flac", "flac", "s16", container_options={"metadata_header_padding": "0"},
    ),
    "aac": Codec(
        "audio/aac", "adts", "aac", "fltp", _WIDE_RATES,
        bit_rates=((12000, 32_000), (16000, 48_000), (24000, 64_000), (48000, 96_000)),
    ),
})  # fmt: skip


class _Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...
    def take(self) -> bytes: ...
    def rest(self) -> bytes: ...


class _AppendOnly:
    """A sink of a stream. It has no `seek`, so nothing can be written twice."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)

    rest = take


class _WholeFile(BytesIO):
    """A sink whose headers may be rewritten; nothing can be taken before the end."""

    def take(self) -> bytes:
        return b""

    def rest(self) -> bytes:
        data = self.getvalue()
        self.truncate(0)
        return data


def _open(codec: Codec, sink: _Sink, *, whole: bool) -> OutputContainer:
    options = {"fflags": "+bitexact+flush_packets", **codec.container_options}
    if not whole:
        options |= codec.stream_options
    return av.open(sink, "w", format=codec.container, container_options=options)


class _Writer:
    """Int16 samples through a codec into a container, in the codec's own blocks."""

    def __init__(self, container: OutputContainer, codec: Codec, sample_rate_hz: int) -> None:
        self._container = container
        self._sample_format = codec.sample_format
        self._rate_hz = sample_rate_hz
        self._time_base = Fraction(1, sample_rate_hz)
        stream = container.add_stream(
            codec.encoder, sample_rate_hz, options=dict(codec.encoder_options), layout="mono"
        )
        assert isinstance(stream, AudioStream)
        self._stream = stream
        self._stream.codec_context.bit_rate = codec.bit_rate(sample_rate_hz)
        self._stream.codec_context.open()
        self._block = self._stream.codec_context.frame_size
        self._rest = np.zeros(0, np.int16)
        self._position = 0

    def write(self, samples: NDArray[np.int16]) -> None:
        """Encode every block that int16 [N] completes; the rest waits for more."""
        samples = np.concatenate((self._rest, samples)) if len(self._rest) else samples
        cut = len(samples) - len(samples) % self._block
        for start in range(0, cut, self._block):
            self._encode(samples[start : start + self._block])
        self._rest = samples[cut:].copy()

    def close(self) -> None:
        """Encode what waits, end the file, free the codec's memory."""
        if len(self._rest):
            self._encode(self._rest)
        self._container.start_encoding()
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def __del__(self) -> None:
        # An answer that was cancelled: container and stream hold each other, so several MB
        # of codec would otherwise wait for the cycle collector.
        self._container.close()

    def _encode(self, samples: NDArray[np.int16]) -> None:
        frame = av.AudioFrame.from_ndarray(
            self._as_codec(samples), format=self._sample_format, layout="mono"
        )
        frame.sample_rate = self._rate_hz
        frame.time_base = self._time_base
        frame.pts = self._position
        self._position += len(samples)
        self._container.mux(self._stream.encode(frame))

    def _as_codec(self, samples: NDArray[np.int16]) -> NDArray[np.int16] | NDArray[np.float32]:
        """Int16 [N] as the codec takes it, [1, N]."""
        if self._sample_format == "fltp":
            return samples[None, :].astype(np.float32) / np.float32(32768.0)
        return samples[None, :]


class CompressedEncoder:
    """A compressed file: as a stream whose bytes leave as soon as they are there, or whole."""

    channels = 1

    def __init__(self, codec: Codec, sample_rate_hz: int, *, whole: bool) -> None:
        self.mime_type = codec.mime_type
        self.sample_rate_hz = sample_rate_hz
        self._sink: _Sink = _WholeFile() if whole else _AppendOnly()
        self._bit_rate = codec.bit_rate(sample_rate_hz)
        self._begun = whole or codec.container != "mp3"
        self._writer: _Writer | None = _Writer(
            _open(codec, self._sink, whole=whole), codec, sample_rate_hz
        )

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """What float32 [N] completes; often nothing.

        Raises:
            ValueError: `finish` was called before.
        """
        if self._writer is None:
            raise ValueError("this encoder has finished")
        self._writer.write(to_int16(samples))
        return self._led(self._sink.take())

    def finish(self) -> bytes:
        """The rest of the file, once. The codec's memory is free afterwards."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        return self._led(self._sink.rest())

    def _led(self, data: bytes) -> bytes:
        """The stream's first bytes with what goes before them, all others as they are."""
        if self._begun or not data:
            return data
        self._begun = True
        return info_frame(data[:4], self._bit_rate, self.sample_rate_hz) + data
