"""Samples into the bytes of one file: the format table, `Encoder`, `make_encoder`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ollama_tts.audio.compressed import CODECS, CompressedEncoder
from ollama_tts.audio.wav import PcmEncoder, WavEncoder, WholeWavEncoder
from ollama_tts.errors import InvalidOption

MIME_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "wav": WavEncoder.mime_type,
        "pcm": PcmEncoder.mime_type,
        **{name: codec.mime_type for name, codec in CODECS.items()},
    }
)
"""Content-Type by format; its keys are all formats there are."""

LOWEST_RATE_HZ: Final = 8000
HIGHEST_RATE_HZ: Final = 48000


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
    """The sample rate of a file in `format` where `wanted_hz` was asked for.

    wav, pcm and flac take every rate from 8000 to 48000 Hz. mp3, aac (8000, 11025, 12000, 16000,
    22050, 24000, 32000, 44100, 48000) and opus (8000, 12000, 16000, 24000, 48000) get the next
    higher one that they have, so that nothing is lost. The caller resamples to it.

    Raises:
        InvalidOption: Unknown format.
    """
    _check_format(format)
    within = min(max(wanted_hz, LOWEST_RATE_HZ), HIGHEST_RATE_HZ)
    rates_hz = CODECS[format].rates_hz if format in CODECS else ()
    return next((rate_hz for rate_hz in rates_hz if rate_hz >= within), within)


def make_encoder(format: str, sample_rate_hz: int, *, whole: bool = False) -> Encoder:  # noqa: A002
    """An encoder of a new file.

    `whole` says that nobody reads before the end: headers then carry exact sizes, and everything
    comes from `finish`. Otherwise bytes come as early as the format allows.

    Raises:
        InvalidOption: Unknown format, or a rate that it does not have (see `supported_rate_hz`).
    """
    nearest_hz = supported_rate_hz(format, sample_rate_hz)
    if nearest_hz != sample_rate_hz:
        raise InvalidOption(
            f"sample_rate {sample_rate_hz} does not exist in audio_format {format!r}, "
            f"which takes {_rates_in_words(format)}"
        )
    if format in CODECS:
        return CompressedEncoder(CODECS[format], sample_rate_hz, whole=whole)
    if format == "pcm":
        return PcmEncoder(sample_rate_hz)
    return WholeWavEncoder(sample_rate_hz) if whole else WavEncoder(sample_rate_hz)


def _check_format(name: str) -> None:
    if name not in MIME_TYPES:
        raise InvalidOption(f"audio_format {name!r} must be one of {', '.join(MIME_TYPES)}")


def _rates_in_words(name: str) -> str:
    if name in CODECS and CODECS[name].rates_hz:
        return ", ".join(map(str, CODECS[name].rates_hz)) + " Hz"
    return f"{LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ} Hz"
