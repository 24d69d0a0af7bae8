"""A stored model, loaded as a server loads it, says what it was asked to say."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ollama_tts.backends.base import Runner
from ollama_tts.backends.chattts.backend import ChatTTSBackend
from ollama_tts.backends.chattts.estimate import estimate
from ollama_tts.backends.chattts.loading import choose
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job
from ollama_tts.engine.utterance import Utterance
from ollama_tts.errors import (
    EngineDead,
    GenerationFailed,
    InvalidOption,
    InvalidWeights,
    LoadFailed,
    UnspeakableText,
    Unsupported,
)
from ollama_tts.options import LoadOptions, SpeechOptions
from tests.backends.chattts.conftest import Sentence, pitch_hz, sentences
from tests.support.chattts import say, stored

SAMPLES = [s for s in sentences() if s.id in {"anna_en00", "ben_en07", "anna_zh02", "ben_zh05"}]
# What upstream's own output of all sentences has, and a little room.
BOUNDS_HZ = {
    ("anna", "en"): (175, 245),
    ("anna", "zh"): (230, 285),
    ("ben", "en"): (98, 138),
    ("ben", "zh"): (158, 200),
}


def utterance(sentence: Sentence, **options: object) -> Utterance:
    chosen = {"voice": sentence.speaker, **options}
    return Utterance(sentence.text, sentence.language, SpeechOptions(**chosen), seed=7)  # type: ignore[arg-type]


def check_said(sentence: Sentence, sound: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
    """It ended by itself, is as long as it was trained to be, and it is the right voice."""
    trained = (2 * sentence.tokens - 1) * 256
    assert abs(len(sound) - trained) <= 2 * 512
    low, high = BOUNDS_HZ[sentence.speaker, sentence.language]
    assert low < pitch_hz(sound) < high


def load(checkpoint: Checkpoint, **options: object) -> Runner:
    chosen = LoadOptions(**{"num_thread": 1, **options})  # type: ignore[arg-type]
    return ChatTTSBackend().load(stored(checkpoint), chosen)


@pytest.fixture(scope="module")
async def runner(mini: Checkpoint) -> AsyncIterator[Runner]:
    loaded = load(mini, backend="torch", quantization="fp32")
    yield loaded
    await loaded.close()


@pytest.mark.parametrize(
    ("backend", "quantization"),
    [
        ("torch", "fp32"),
        ("torch", "bf16"),
        ("torch", "fp16"),
        ("torch", "int8"),
        ("torch", "int4"),
        ("native", "int8"),
        ("native", "bf16"),
        ("native", "fp32"),
    ],
)
async def test_every_precision_speaks(mini: Checkpoint, backend: str, quantization: str) -> None:
    runner = load(mini, backend=backend, quantization=quantization)
    assert runner.traits.notes["quantization"] == quantization
    assert runner.traits.notes["backend"] == backend
    try:
        said = await asyncio.gather(*(say(runner, utterance(s)) for s in SAMPLES[::3]))
    finally:
        await runner.close()
    for sentence, (sound, pieces) in zip(SAMPLES[::3], said, strict=True):
        check_said(sentence, sound)
        assert [p.finish for p in pieces[:-1]] == [None] * (len(pieces) - 1)
        assert pieces[-1].finish == "stop"
        assert sum(p.steps for p in pieces) == sentence.tokens


@pytest.mark.parametrize("latency", ["low", "balanced", "exact"])
async def test_every_latency_speaks(runner: Runner, latency: str) -> None:
    sentence = SAMPLES[0]
    sound, pieces = await say(runner, utterance(sentence, latency=latency))
    check_said(sentence, sound)
    assert len(pieces) >= (2 if latency != "exact" else 1)


async def test_same_seed_same_sound_in_any_company(runner: Runner) -> None:
    wild = {"temperature": 3.0, "top_p": 1.0, "top_k": 0, "num_predict": 40}
    mine = utterance(SAMPLES[0], **wild)
    alone, _ = await say(runner, mine)
    others = [utterance(s, num_predict=30 + i) for i, s in enumerate(SAMPLES)]
    said = await asyncio.gather(*(say(runner, u) for u in [*others, mine]))
    np.testing.assert_array_equal(said[-1][0], alone)
    different, _ = await say(runner, replace(mine, seed=8))
    assert len(different) != len(alone) or not np.array_equal(different, alone)


@pytest.mark.parametrize("backend", ["torch", "native"])
async def test_refining_first_says_the_same(mini: Checkpoint, backend: str) -> None:
    runner = load(mini, backend=backend, quantization="fp32")
    sentence = SAMPLES[0]
    sound, _ = await say(runner, utterance(sentence, refine_text=True, oral=2, laugh=0, break_=6))
    check_said(sentence, sound)
    assert runner.memory.total_bytes > 40e6
    await runner.close()


async def test_what_never_begins_fails_alone(mini: Checkpoint) -> None:
    """An end token that always comes first: three attempts, then an error; others speak on."""
    end = torch.full((626,), -1e4)
    end[625] = 1e4
    runner = load(mini, backend="torch", quantization="fp32")
    model = runner._engine._floor._model  # type: ignore[attr-defined]
    starts, start, logits = [], model.start, model._vocabulary.code_logits
    doomed: set[int] = set()

    def note(slot: int, job: Job, attempt: int) -> None:
        if job.max_tokens == 33:
            starts.append(attempt)
            doomed.add(slot)
        else:
            doomed.discard(slot)
        start(slot, job, attempt)

    def ending(hidden: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = logits(hidden)
        slots = [s for s in model._running if not model._running[s].drawn]
        if len(made) == 1 and slots and slots[0] in doomed:
            made[:] = end
        return made

    model.start, model._vocabulary.code_logits = note, ending
    good = utterance(SAMPLES[1], num_predict=40)
    await say(runner, good)
    with pytest.raises(GenerationFailed, match="ended at once, 3 times"):
        await say(runner, utterance(SAMPLES[0], num_predict=33))
    assert starts == [0, 1, 2]
    sound, _ = await say(runner, good)
    assert len(sound) == (2 * 40 - 1) * 256
    await runner.close()


async def test_it_is_stopped_where_asked(runner: Runner) -> None:
    sound, pieces = await say(runner, utterance(SAMPLES[0], num_predict=20))
    assert pieces[-1].finish == "length"
    assert len(sound) == (2 * 20 - 1) * 256
    sound, pieces = await say(runner, utterance(SAMPLES[0], min_predict=150, num_predict=160))
    assert sum(p.steps for p in pieces) >= 150


async def test_leaving_frees_the_slot(mini: Checkpoint) -> None:
    """One slot only: who leaves early must not hold it."""
    runner = load(mini, backend="torch", quantization="fp32", num_batch=1)
    for _ in range(3):
        async for _ in runner.speak(utterance(SAMPLES[0], latency="low")):
            break
    sound, _ = await say(runner, utterance(SAMPLES[1]))
    check_said(SAMPLES[1], sound)
    await runner.close()
    with pytest.raises(EngineDead):
        await say(runner, utterance(SAMPLES[1]))


async def test_what_cannot_be_spoken_is_refused_at_once(runner: Runner) -> None:
    sentence = SAMPLES[0]
    runner.check(utterance(sentence))
    with pytest.raises(InvalidOption, match=r"anna, ben, seed:N.*not 'nobody'"):
        runner.check(utterance(sentence, voice="nobody"))
    with pytest.raises(UnspeakableText, match="nothing to say"):
        runner.check(replace(utterance(sentence), text="…!?"))
    with pytest.raises(UnspeakableText, match="num_ctx 2048"):
        runner.check(replace(utterance(sentence), text="hello " * 2100))


def test_traits(runner: Runner) -> None:
    traits = runner.traits
    assert [v.id for v in traits.voices] == ["anna", "ben"]
    assert traits.sample_rate_hz == 24_000
    assert traits.step_samples == 512
    assert traits.slots == 16
    assert runner.count("good morning") == 2
    assert runner.memory.total_bytes > 40e6
    assert runner.memory.vram_bytes == 0


async def test_quantization_saves_memory(mini: Checkpoint) -> None:
    """Measured once loaded, and foretold from the sizes."""
    names, measured = ("fp32", "bf16", "int8", "int4"), []
    for name in names:
        runner = load(mini, backend="torch", quantization=name)
        measured.append(runner.memory.total_bytes)
        await runner.close()
        choice = choose(mini.config, LoadOptions(backend="torch", quantization=name, num_batch=1))
        foretold = estimate(mini.config, replace(choice, positions=0)).total_bytes
        assert foretold == pytest.approx(measured[-1], rel=0.02)
    assert measured == sorted(measured, reverse=True)
    assert ChatTTSBackend().estimate(stored(mini), LoadOptions()).total_bytes > measured[-1]


@pytest.mark.parametrize("quantization", ["fp32", "bf16", "int8"])
async def test_native_memory_is_foretold(mini: Checkpoint, quantization: str) -> None:
    options = LoadOptions(backend="native", quantization=quantization)
    runner = load(mini, backend="native", quantization=quantization)
    measured = runner.memory.total_bytes
    await runner.close()
    foretold = estimate(mini.config, replace(choose(mini.config, options), positions=0))
    assert foretold.total_bytes == pytest.approx(measured, rel=0.15)


async def test_automatic_choice(mini: Checkpoint) -> None:
    runner = load(mini)
    assert runner.traits.notes["backend"] == "native"
    assert runner.traits.notes["quantization"] == "int8"
    await runner.close()
    runner = load(mini, quantization="int4")
    assert runner.traits.notes["backend"] == "torch"
    await runner.close()


def test_what_cannot_be_loaded(mini: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="fp32, bf16 or int8, not int4"):
        load(mini, backend="native", quantization="int4")
    with pytest.raises(Unsupported, match="onnx"):
        load(mini, backend="onnx")
    lacking = {k: v for k, v in mini.files.items() if k != "asset/Embed.safetensors"}
    with pytest.raises(InvalidWeights, match=r"asset/Embed\.safetensors missing"):
        ChatTTSBackend().load(replace(stored(mini), files=lacking), LoadOptions())
    short = tmp_path / "short"
    short.write_bytes(mini.files["asset/Decoder.safetensors"].read_bytes()[:-7])
    broken = {**mini.files, "asset/Decoder.safetensors": short}
    with pytest.raises((InvalidWeights, LoadFailed), match=r"asset/Decoder\.safetensors"):
        ChatTTSBackend().load(replace(stored(mini), files=broken), LoadOptions())


@pytest.mark.filterwarnings("ignore")
async def test_reference_speaks(mini: Checkpoint) -> None:
    runner = load(mini, backend="reference")
    sentence = SAMPLES[0]
    sound, pieces = await say(runner, utterance(sentence))
    check_said(sentence, sound)
    assert pieces[-1].finish == "stop"
    with pytest.raises(InvalidOption):
        await say(runner, utterance(sentence, voice="nobody"))
    assert runner.traits.notes["backend"] == "reference"
    assert runner.memory.total_bytes == pytest.approx(4 * mini.parameters(), rel=0.02)
    assert runner.count("good morning") == 2
    seen = []

    def ends_at_once(*_args: object, **options: Any) -> Iterator[object]:  # noqa: ANN401
        """What upstream does when a seeded text begins with the end token."""
        seen.append(options["params_infer_code"].manual_seed)
        yield from ()
        raise UnboundLocalError("wavs")

    runner._chat.infer = ends_at_once  # type: ignore[attr-defined]
    with pytest.raises(GenerationFailed, match="ended at once, 3 times"):
        await say(runner, utterance(sentence))
    assert len(set(seen)) == 3
    await runner.close()


def test_what_the_reference_lacks(mini: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    options = LoadOptions(backend="reference")
    assert ChatTTSBackend().estimate(stored(mini), options).total_bytes == pytest.approx(
        4 * mini.parameters(), rel=0.02
    )
    lacking = {k: v for k, v in mini.files.items() if k != "asset/DVAE.safetensors"}
    with pytest.raises(InvalidWeights, match=r"also needs asset/DVAE\.safetensors"):
        ChatTTSBackend().load(replace(stored(mini), files=lacking), options)
    monkeypatch.setitem(sys.modules, "ChatTTS", None)
    with pytest.raises(LoadFailed, match=r"ChatTTS 0\.2\.5 with transformers"):
        ChatTTSBackend().load(stored(mini), options)
