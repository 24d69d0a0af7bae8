"""Every sentence that the mini checkpoint knows, heard by Whisper, through every way to make it.

Upstream's own output of the same checkpoint has no errors (one, when it speaks four at a time).
"""

import asyncio
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ollama_tts.backends.chattts.conversion import convert
from ollama_tts.backends.chattts.weights import Checkpoint
from tests.backends.chattts.conftest import Sentence, pitch_hz, sentences
from tests.backends.chattts.test_backend import check_said, load, utterance
from tests.support.chattts import say
from tests.support.whisper import Ear, errors, spoken_characters, spoken_words

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        importlib.util.find_spec("faster_whisper") is None,
        reason="the extra [quality] is not installed",
    ),
]
ALLOWED_ERRORS = 1
TOGETHER = 8
STRIDE = 7
"""Listening takes long: every 7th sentence, both voices and languages among them. All 64 are heard
where the voice runs by default on a CPU; make it 1 to hear all of all."""
RATE_HZ = 24_000
# Whisper writes a time of day in figures; said is "seven thirty".
SIMPLIFIED = str.maketrans("園裡", "园里")
CLOCK = re.compile(r"(\d+)[.:](\d\d)")


@pytest.fixture(scope="module")
def ear(tmp_path_factory: pytest.TempPathFactory) -> Ear:
    return Ear(tmp_path_factory.mktemp("whisper"))


async def spoken(
    mini: Checkpoint,
    said: Sequence[Sentence],
    *,
    options: dict[str, object],
    asked: dict[str, object],
    together: int,
) -> list[NDArray[np.float32]]:
    """The sentences, `together` at a time."""
    runner = load(mini, **options)
    turns = asyncio.Semaphore(together)

    async def one(sentence: Sentence) -> NDArray[np.float32]:
        async with turns:
            return (await say(runner, utterance(sentence, **asked)))[0]

    try:
        return await asyncio.gather(*(one(sentence) for sentence in said))
    finally:
        await runner.close()


def heard_wrong(
    ear: Ear, said: Sequence[Sentence], sounds: Sequence[NDArray[np.float32]]
) -> list[str]:
    """Words or characters that came out wrong, each with its sentence."""
    wrong = []
    for sentence, sound in zip(said, sounds, strict=True):
        check_said(sentence, sound)
        units = spoken_words if sentence.language == "en" else spoken_characters
        padded = np.pad(sound, (RATE_HZ // 4, RATE_HZ // 2))
        heard = ear.hear(padded, RATE_HZ, sentence.language).translate(SIMPLIFIED)
        heard = CLOCK.sub(r"\1 \2", heard)
        found = errors(units(sentence.transcript), units(heard))
        wrong += [f"{sentence.id}: {sentence.transcript} -> {heard}"] * found
    return wrong


@pytest.mark.parametrize(
    ("backend", "quantization"),
    [
        *(("torch", name) for name in ("fp32", "bf16", "fp16", "int8", "int4")),
        *(("native", name) for name in ("int8", "bf16", "fp32")),
    ],
)
async def test_every_precision(mini: Checkpoint, ear: Ear, backend: str, quantization: str) -> None:
    options: dict[str, object] = {"backend": backend, "quantization": quantization}
    said = sentences()[:: 1 if (backend, quantization) == ("native", "int8") else STRIDE]
    wrong = heard_wrong(
        ear, said, await spoken(mini, said, options=options, asked={}, together=TOGETHER)
    )
    assert len(wrong) <= ALLOWED_ERRORS, wrong


@pytest.mark.parametrize("backend", ["native", "torch"])
async def test_out_of_a_gguf(mini: Checkpoint, ear: Ear, tmp_path: Path, backend: str) -> None:
    with (tmp_path / "m.gguf").open("wb") as file:
        file.writelines(convert(mini.files, "Q8_0").chunks())
    again = Checkpoint({"m.gguf": tmp_path / "m.gguf"})
    said = sentences()[:: 4 * STRIDE]
    options: dict[str, object] = {"backend": backend, "quantization": "int8"}
    wrong = heard_wrong(
        ear, said, await spoken(again, said, options=options, asked={}, together=TOGETHER)
    )
    assert len(wrong) <= ALLOWED_ERRORS, wrong


@pytest.mark.parametrize("latency", ["low", "exact"])
@pytest.mark.parametrize("together", [1, 16])
async def test_every_latency(mini: Checkpoint, ear: Ear, latency: str, together: int) -> None:
    said = sentences()[together % 4 :: 4]
    asked: dict[str, object] = {"latency": latency}
    wrong = heard_wrong(
        ear, said, await spoken(mini, said, options={}, asked=asked, together=together)
    )
    assert len(wrong) <= ALLOWED_ERRORS, wrong


async def test_refined(mini: Checkpoint, ear: Ear) -> None:
    said = sentences()[2::4]
    asked: dict[str, object] = {"refine_text": True}
    wrong = heard_wrong(
        ear, said, await spoken(mini, said, options={}, asked=asked, together=TOGETHER)
    )
    assert len(wrong) <= ALLOWED_ERRORS, wrong


async def test_random_voices(mini: Checkpoint) -> None:
    """A voice drawn by number is one of the two, and always the same one."""
    runner = load(mini)
    sentence = sentences()[0]
    pitches = []
    for number in (1, 2, 3, 4):
        asked = utterance(sentence, voice=f"seed:{number}")
        first, again = (await say(runner, asked))[0], (await say(runner, asked))[0]
        np.testing.assert_array_equal(first, again)
        pitches.append(pitch_hz(first))
    await runner.close()
    assert all(90 < p < 250 for p in pitches)
