"""The same model on a GPU: it speaks, and says what the CPU says. Skipped where there is none."""

import asyncio

import numpy as np
import pytest
import torch

from ollama_tts.backends.chattts.weights import Checkpoint
from tests.backends.chattts.conftest import sentences
from tests.backends.chattts.test_backend import SAMPLES, check_said, load, utterance
from tests.support.chattts import say

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.mark.parametrize("quantization", ["auto", "fp32", "fp16", "int8", "int4"])
async def test_every_precision_speaks(mini: Checkpoint, quantization: str) -> None:
    runner = load(mini, quantization=quantization)
    assert runner.traits.notes["device"] == "cuda"
    assert runner.memory.vram_bytes > 0
    said = await asyncio.gather(*(say(runner, utterance(s)) for s in sentences()))
    await runner.close()
    for sentence, (sound, _) in zip(sentences(), said, strict=True):
        check_said(sentence, sound)


@pytest.mark.parametrize("layers", [1, 3, 5])
async def test_layers_may_be_split(mini: Checkpoint, layers: int) -> None:
    runner = load(mini, num_gpu=layers, quantization="fp32")
    assert runner.traits.notes["gpu_layers"] == str(layers)
    for sentence in SAMPLES:
        check_said(sentence, (await say(runner, utterance(sentence)))[0])
    await runner.close()


async def test_the_gpu_says_what_the_cpu_says(mini: Checkpoint) -> None:
    on_gpu, on_cpu = load(mini, quantization="fp32"), load(mini, quantization="fp32", num_gpu=0)
    for sentence in SAMPLES:
        there, _ = await say(on_gpu, utterance(sentence))
        here, _ = await say(on_cpu, utterance(sentence))
        np.testing.assert_allclose(there, here, atol=1e-3)
    await on_gpu.close()
    await on_cpu.close()


async def test_company_changes_nothing(mini: Checkpoint) -> None:
    runner = load(mini)
    wild = {"temperature": 3.0, "top_p": 1.0, "top_k": 0, "num_predict": 40}
    alone, _ = await say(runner, utterance(SAMPLES[0], **wild))
    others = [utterance(s) for s in sentences()[:40]]
    said = await asyncio.gather(*(say(runner, u) for u in [*others, utterance(SAMPLES[0], **wild)]))
    np.testing.assert_array_equal(said[-1][0], alone)
    await runner.close()
