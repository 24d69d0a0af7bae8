import io
import struct

import numpy as np
import pytest
import soundfile

from ollama_tts.audio.decode import decode
from ollama_tts.audio.encode import make_encoder
from ollama_tts.errors import InvalidRequest, TooLarge
from tests.support.sounds import sine


def recording(name: str, *, whole: bool = True, seconds: float = 1.0) -> bytes:
    encoder = make_encoder(name, 24_000, whole=whole)
    return encoder.feed(sine(seconds, 24_000)) + encoder.finish()


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("wav", True), ("flac", True), ("mp3", True), ("opus", True),
        ("wav", False), ("mp3", False), ("opus", False),
    ],
)  # fmt: skip
def test_what_is_encoded_can_be_read_back(name: str, whole: bool) -> None:
    sound = decode(recording(name, whole=whole))
    assert sound.sample_rate_hz == 24_000
    assert sound.samples.dtype == np.float32
    assert sound.duration_s == pytest.approx(1.0, abs=0.12 if name == "mp3" else 0.001)
    assert np.sqrt(np.mean(sound.samples**2)) == pytest.approx(0.35, abs=0.03)


def test_channels_are_averaged() -> None:
    file = io.BytesIO()
    soundfile.write(file, np.array([[0.5, 0.0]] * 100), 16_000, "PCM_16", format="WAV")
    sound = decode(file.getvalue())
    assert sound.sample_rate_hz == 16_000
    assert sound.samples == pytest.approx(np.full(100, 0.25), abs=1e-4)


@pytest.mark.parametrize("data", [b"", b"RIFF", b"not a recording" * 100, bytes(1000)])
def test_other_bytes_are_refused_with_what_can_be_read(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match="WAV, FLAC, MP3 and Ogg can be read"):
        decode(data)


def test_a_recording_that_ends_early_gives_what_is_there() -> None:
    assert 0.4 < decode(recording("wav")[:24_044]).duration_s <= 0.5


@pytest.mark.parametrize("name", ["wav", "flac", "opus"])
def test_length_is_bounded(name: str) -> None:
    data = recording(name, seconds=3.0)
    assert decode(data, max_s=3.0).duration_s == pytest.approx(3.0, abs=0.001)
    with pytest.raises(TooLarge, match=r"longer than 2\.5 seconds"):
        decode(data, max_s=2.5)


def test_a_header_that_claims_gigabytes_costs_nothing() -> None:
    data = bytearray(recording("wav", seconds=0.1))
    data[40:44] = struct.pack("<I", 0xFFFFFF00)
    assert decode(bytes(data)).duration_s == pytest.approx(0.1, abs=0.001)
