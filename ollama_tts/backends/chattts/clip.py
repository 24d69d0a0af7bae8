"""A recording that a voice is made of, read and judged; and the text beside it."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from ollama_tts.backends.chattts.config import SAMPLE_RATE_HZ
from ollama_tts.errors import InvalidWeights

RECORDINGS = frozenset({".wav", ".flac", ".mp3", ".ogg", ".opus"})
MIN_SECONDS, MAX_SECONDS = 3.0, 30.0
MAX_TEXT_BYTES = 4096
SILENT = 1e-4


def is_recording(name: str) -> bool:
    """Whether an adapter of this name is sound."""
    return PurePosixPath(name).suffix.lower() in RECORDINGS


def text_beside(name: str, adapters: Mapping[str, Path]) -> str:
    """What is said in a recording: the adapter of its name that ends in `.txt`; empty without.

    Raises:
        InvalidWeights: That is no text, or too long.
    """
    beside = str(PurePosixPath(name).with_suffix(".txt"))
    if beside not in adapters:
        return ""
    with adapters[beside].open("rb") as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise InvalidWeights(f"{beside}: the text of a recording may have {MAX_TEXT_BYTES} bytes")
    try:
        return data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InvalidWeights(f"{beside}: the text of a recording must be UTF-8") from error


def read_mono(path: Path, name: str = "a voice's recording") -> NDArray[np.float32]:
    """A recording as float32 [N] mono at the model's rate; `name` is for errors.

    Raises:
        InvalidWeights: Not a sound file, silent, or of a length that cannot be continued.
    """
    try:
        with soundfile.SoundFile(path) as file:
            rate_hz, most = file.samplerate, int(MAX_SECONDS * file.samplerate) + 1
            samples = file.read(most, dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, OSError) as error:
        kinds = ", ".join(sorted(RECORDINGS))
        raise InvalidWeights(f"{name} cannot be read as sound ({kinds}): {_why(error)}") from error
    seconds = len(samples) / rate_hz
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        long = "more" if seconds > MAX_SECONDS else f"{seconds:.1f} s"
        raise InvalidWeights(
            f"{name} must last {MIN_SECONDS:g} to {MAX_SECONDS:g} s, not {long}"
        )  # fmt: skip
    mono = samples.mean(1)
    if not np.isfinite(mono).all() or np.abs(mono).max() < SILENT:
        raise InvalidWeights(f"{name} is silent or damaged")
    return np.asarray(soxr.resample(mono, rate_hz, SAMPLE_RATE_HZ), np.float32)


def _why(error: Exception) -> str:
    """The cause without the file's path on this machine."""
    if isinstance(error, soundfile.LibsndfileError):
        return str(error.error_string)
    return (error.strerror if isinstance(error, OSError) else None) or "it cannot be opened"
