"""Samples into the bytes of one file: the format table, `Encoder`, `make_encoder`."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ollama_tts.audio.wav import PcmEncoder, WavEncoder, WholeWavEncoder
from ollama_tts.errors import InvalidOption

FORMATS = ("wav", "pcm")


class Encoder(Protocol):
    """One file in the making. Whatever the pieces it is fed in, the bytes are the same.

    The concatenation of everything `feed` gave and of what `finish` gave is one file with one
    header. Two encoders share nothing; one encoder belongs to one thread at a time.
    """

    @property
    def mime_type(self) -> str:
        """What goes into Content-Type."""

    @property
    def sample_rate_hz(self) -> int:
        """The rate that `feed` expects."""

    @property
    def channels(self) -> int:
        """Always 1."""

    def feed(self, samples: NDArray[np.float32]) -> bytes:
        """The bytes that float32 [N] makes available; may be empty."""

    def finish(self) -> bytes:
        """The rest of the file. Nothing may be fed afterwards; a second call gives nothing."""


def supported_rate_hz(format: str, wanted_hz: int) -> int:  # noqa: A002
    """The sample rate that `format` will really have where `wanted_hz` was asked for.

    Raises:
        InvalidOption: Unknown format.
    """
    _check(format)
    return wanted_hz


def make_encoder(format: str, sample_rate_hz: int, *, whole: bool = False) -> Encoder:  # noqa: A002
    """An encoder of a new file.

    `whole` says that nobody reads before the end: headers then carry exact sizes, and everything
    comes from `finish`. Otherwise bytes come as early as the format allows.

    Raises:
        InvalidOption: Unknown format, or a rate that it does not have.
    """
    _check(format)
    if format == "pcm":
        return PcmEncoder(sample_rate_hz)
    return WholeWavEncoder(sample_rate_hz) if whole else WavEncoder(sample_rate_hz)


def _check(name: str) -> None:
    if name not in FORMATS:
        raise InvalidOption(f"audio_format {name!r} must be one of {', '.join(FORMATS)}")
