"""The program ffmpeg, as a second opinion on what the encoders write."""

import shutil
import subprocess

import numpy as np

from tests.support.sounds import Sound

FFMPEG = shutil.which("ffmpeg")
MISSING = "the program ffmpeg is not installed"


def decode(data: bytes, name: str, rate_hz: int, *, cut: bool = False) -> Sound:
    """What ffmpeg hears, float32 [N] at `rate_hz`; an error of its fails the test.

    A file that was `cut` anywhere may end in half a frame, of which it complains.
    """
    raw = ["-f", "s16le", "-ar", str(rate_hz), "-ac", "1"] if name == "pcm" else []
    out = ["-f", "f32le", "-ar", str(rate_hz), "-ac", "1", "pipe:1"]
    done = subprocess.run(
        [FFMPEG or "ffmpeg", "-v", "error", *raw, "-i", "pipe:0", *out],
        input=data, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert cut or done.stderr == b""
    return np.frombuffer(done.stdout, np.float32)
