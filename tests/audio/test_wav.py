import io
import wave

import numpy as np
import pytest
import soundfile

from ollama_tts.audio.pcm import to_int16
from ollama_tts.audio.wav import HEADER_BYTES, WavEncoder, WholeWavEncoder, wav_header
from tests.support.sounds import sine


@pytest.mark.parametrize("rate_hz", [8000, 22_050, 24_000, 48_000])
def test_a_whole_file_is_what_the_standard_library_writes(rate_hz: int) -> None:
    sound = sine(0.3, rate_hz)
    expected = io.BytesIO()
    with wave.open(expected, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(to_int16(sound).tobytes())
    encoder = WholeWavEncoder(rate_hz)
    assert encoder.feed(sound[:1000]) + encoder.feed(sound[1000:]) == b""
    assert encoder.finish() == expected.getvalue()
    assert encoder.finish() == b""


def test_a_stream_says_that_its_sizes_are_unknown_and_is_read_to_its_end() -> None:
    sound = sine(0.3, 24_000)
    encoder = WavEncoder(24_000)
    data = encoder.feed(sound) + encoder.finish()
    assert data[4:8] == data[40:44] == b"\xff\xff\xff\xff"
    samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="int16")
    assert rate_hz == 24_000
    assert np.array_equal(samples, to_int16(sound))


def test_the_header_comes_with_the_first_samples_and_never_again() -> None:
    encoder = WavEncoder(24_000)
    assert encoder.feed(np.zeros(0, np.float32)) == b""
    assert len(encoder.feed(np.zeros(10, np.float32))) == HEADER_BYTES + 20
    assert len(encoder.feed(np.zeros(10, np.float32))) == 20
    assert encoder.finish() == b""


def test_an_answer_without_sound_is_still_a_file() -> None:
    for encoder in (WavEncoder(24_000), WholeWavEncoder(24_000)):
        samples, _ = soundfile.read(io.BytesIO(encoder.finish()))
        assert len(samples) == 0


@pytest.mark.parametrize("data_bytes", [None, 2**32 - 36, 2**40])
def test_a_size_that_32_bits_cannot_tell_is_unknown(data_bytes: int | None) -> None:
    assert wav_header(24_000, data_bytes) == wav_header(24_000)


def test_the_largest_size_is_still_told() -> None:
    header = wav_header(24_000, 2**32 - 38)
    assert int.from_bytes(header[40:44], "little") == 2**32 - 38
