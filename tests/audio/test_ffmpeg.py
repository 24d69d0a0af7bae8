"""The program ffmpeg reads what the encoders write, complete and cut short."""

import shutil
import subprocess

import numpy as np
import pytest

from ollama_tts.audio.encode import make_encoder
from ollama_tts.options import AUDIO_FORMATS
from tests.support.sounds import Sound, pitch_hz, sine

FFMPEG = shutil.which("ffmpeg")
RATE_HZ = 24_000

pytestmark = pytest.mark.skipif(FFMPEG is None, reason="the program ffmpeg is not installed")


def decode(data: bytes, name: str) -> Sound:
    """What ffmpeg hears, float32 [N] at `RATE_HZ`; a warning or error of its fails the test."""
    raw = ["-f", "s16le", "-ar", str(RATE_HZ), "-ac", "1"] if name == "pcm" else []
    out = ["-f", "f32le", "-ar", str(RATE_HZ), "-ac", "1", "pipe:1"]
    done = subprocess.run(
        [FFMPEG or "ffmpeg", "-v", "error", *raw, "-i", "pipe:0", *out],
        input=data, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == b""
    return np.frombuffer(done.stdout, np.float32)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_ffmpeg_hears_the_whole_file(name: str, whole: bool) -> None:
    encoder = make_encoder(name, RATE_HZ, whole=whole)
    heard = decode(encoder.feed(sine(1.0, RATE_HZ)) + encoder.finish(), name)
    assert RATE_HZ <= len(heard) <= 1.1 * RATE_HZ
    assert pitch_hz(heard[6000:18_000], RATE_HZ) == pytest.approx(440.0, abs=1.0)


@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_ffmpeg_hears_what_has_arrived_after_300_ms(name: str) -> None:
    encoder = make_encoder(name, RATE_HZ)
    heard = decode(b"".join(map(encoder.feed, np.split(sine(0.3, RATE_HZ), 30))), name)
    assert len(heard) >= 0.1 * RATE_HZ
    assert np.abs(heard).max() > 0.4
