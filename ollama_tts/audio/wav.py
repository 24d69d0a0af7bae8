"""Uncompressed sound, 16 bit mono: WAV with one header, and raw samples without any."""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ollama_tts.audio.pcm import to_int16

UNKNOWN_SIZE: Final = 0xFFFFFFFF
"""What a streamed header says of sizes that nobody knows yet; players then read to the end."""

HEADER_BYTES: Final = 44
_SAMPLE_BYTES = 2


def wav_header(sample_rate_hz: int, data_bytes: int | None = None) -> bytes:
    """The 44 bytes before the samples of a 16-bit mono WAV file.

    `data_bytes` None, or more than 32 bits can tell, writes both sizes as 0xFFFFFFFF.
    """
    known = data_bytes is not None and data_bytes + HEADER_BYTES - 8 <= UNKNOWN_SIZE
    data_size = data_bytes if known and data_bytes is not None else UNKNOWN_SIZE
    riff_size = data_size + HEADER_BYTES - 8 if known else UNKNOWN_SIZE
    byte_rate = sample_rate_hz * _SAMPLE_BYTES
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        *(b"RIFF", riff_size, b"WAVE"),
        *(b"fmt ", 16, 1, 1, sample_rate_hz, byte_rate, _SAMPLE_BYTES, 8 * _SAMPLE_BYTES),
        *(b"data", data_size),
    )


class PcmEncoder:
    """Raw signed 16-bit little-endian samples; there is no header, so whole and streamed agree."""

    mime_type = "audio/pcm"
    channels = 1

    def __init__(self, sample_rate_hz: int) -> None:
        self.sample_rate_hz = sample_rate_hz
        self._finished = False

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """Float32 [N] as 2 N bytes; nothing is held back.

        Raises:
            ValueError: `finish` was called before.
        """
        if self._finished:
            raise ValueError("this encoder has finished")
        return to_int16(samples).astype("<i2", copy=False).tobytes()

    def finish(self) -> bytes:
        """Nothing: raw samples have no end mark."""
        self._finished = True
        return b""


class WavEncoder:
    """A WAV stream: the header goes out with the first samples, its sizes are 0xFFFFFFFF."""

    mime_type = "audio/wav"
    channels = 1

    def __init__(self, sample_rate_hz: int) -> None:
        self.sample_rate_hz = sample_rate_hz
        self._pcm = PcmEncoder(sample_rate_hz)
        self._header = wav_header(sample_rate_hz)

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """Float32 [N] as 2 N bytes, the header before the very first of them."""
        data = self._pcm.feed(samples)
        return self._take_header() + data if data else data

    def finish(self) -> bytes:
        """The header if there was no sample at all, else nothing."""
        return self._take_header() + self._pcm.finish()

    def _take_header(self) -> bytes:
        header, self._header = self._header, b""
        return header


class WholeWavEncoder:
    """A WAV file with exact sizes: everything comes from `finish`."""

    mime_type = "audio/wav"
    channels = 1

    def __init__(self, sample_rate_hz: int) -> None:
        self.sample_rate_hz = sample_rate_hz
        self._pcm = PcmEncoder(sample_rate_hz)
        self._data: bytearray | None = bytearray()

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """Keeps float32 [N] for `finish`; gives nothing yet."""
        data = self._pcm.feed(samples)
        assert self._data is not None
        self._data += data
        return b""

    def finish(self) -> bytes:
        """The whole file, once."""
        self._pcm.finish()
        data, self._data = self._data, None
        return b"" if data is None else wav_header(self.sample_rate_hz, len(data)) + data
