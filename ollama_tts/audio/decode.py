"""Recordings into samples: WAV, FLAC, MP3, Ogg and what else libsndfile reads."""

from io import BytesIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from ollama_tts.audio.pcm import Pcm
from ollama_tts.errors import InvalidRequest, TooLarge

_BLOCK_FRAMES = 65536


def decode(data: bytes, *, max_s: float = 60.0) -> Pcm:
    """The sound of one recording, several channels averaged into one.

    It reads until the end or `max_s`, whatever length the header claims. FLAC whose header does
    not tell its length, as streams of it do, is more than libsndfile 1.2 can read.

    Raises:
        InvalidRequest: Not a recording that can be read.
        TooLarge: It is longer than `max_s` seconds.
    """
    try:
        with soundfile.SoundFile(BytesIO(data)) as file:
            return Pcm(_read(file, max_s), file.samplerate)
    except soundfile.LibsndfileError as error:
        raise InvalidRequest(
            f"cannot read this recording ({error.error_string}): WAV, FLAC, MP3 and Ogg can be read"
        ) from error


def _read(file: soundfile.SoundFile, max_s: float) -> NDArray[np.float32]:
    room = int(max_s * file.samplerate)
    blocks = []
    while len(block := file.read(_BLOCK_FRAMES, dtype="float32", always_2d=True)):
        room -= len(block)
        if room < 0:
            raise TooLarge(f"the recording is longer than {max_s:g} seconds")
        blocks.append(block.mean(axis=1, dtype=np.float32))
    return np.concatenate(blocks) if blocks else np.zeros(0, np.float32)
