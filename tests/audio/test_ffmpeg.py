"""The program ffmpeg reads what the encoders write, complete and cut short."""

import numpy as np
import pytest

from ollama_tts.audio.encode import make_encoder
from ollama_tts.options import AUDIO_FORMATS
from tests.support.ffmpeg import FFMPEG, MISSING, decode
from tests.support.sounds import pitch_hz, sine

RATE_HZ = 24_000

pytestmark = pytest.mark.skipif(FFMPEG is None, reason=MISSING)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_ffmpeg_hears_the_whole_file(name: str, whole: bool) -> None:
    encoder = make_encoder(name, RATE_HZ, whole=whole)
    heard = decode(encoder.feed(sine(1.0, RATE_HZ)) + encoder.finish(), name, RATE_HZ)
    assert RATE_HZ <= len(heard) <= 1.1 * RATE_HZ
    assert pitch_hz(heard[6000:18_000], RATE_HZ) == pytest.approx(440.0, abs=1.0)


@pytest.mark.parametrize("name", AUDIO_FORMATS)
def test_ffmpeg_hears_what_has_arrived_after_300_ms(name: str) -> None:
    encoder = make_encoder(name, RATE_HZ)
    heard = decode(b"".join(map(encoder.feed, np.split(sine(0.3, RATE_HZ), 30))), name, RATE_HZ)
    assert len(heard) >= 0.1 * RATE_HZ
    assert np.abs(heard).max() > 0.4
