"""How loud answers are, measured as a broadcaster would: ITU-R BS.1770."""

import httpx
import numpy as np
import pyloudnorm
import pytest
from numpy.typing import NDArray

TEXT = "The quick brown fox jumps over the lazy dog. Who would have thought that? Nobody did!"


def heard(http: httpx.Client, **options: object) -> NDArray[np.int16]:
    body = {"model": "hibari", "prompt": TEXT, "options": {"seed": 1, **options}}
    answer = http.post("/api/generate", json=body, headers={"Accept": "audio/pcm"})
    answer.raise_for_status()
    return np.frombuffer(answer.content, "<i2")


def lufs(samples: NDArray[np.int16]) -> float:
    return float(pyloudnorm.Meter(24_000).integrated_loudness(samples / 32768))


def test_the_default_voice_is_at_the_common_level(http: httpx.Client) -> None:
    assert lufs(heard(http)) == pytest.approx(-20, abs=1)


def test_gain_is_what_it_says_until_the_limiter_holds_it(http: httpx.Client) -> None:
    plain = lufs(heard(http))
    assert lufs(heard(http, gain_db=-12.5)) == pytest.approx(plain - 12.5, abs=0.2)
    assert lufs(heard(http, gain_db=24.0)) > plain + 12
    assert heard(http, gain_db=24.0).max() == 32767


def test_a_voice_that_is_no_clone_is_not_denoised(http: httpx.Client) -> None:
    assert np.array_equal(heard(http), heard(http, denoise=True))
