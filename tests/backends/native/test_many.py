import asyncio
import contextlib
import gc
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from ollama_tts.backends.chattts.native_model import NativeStepModel
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.batcher import Limits
from ollama_tts.engine.loop import Engine
from ollama_tts.engine.step_model import Job, StepModel
from ollama_tts.engine.utterance import Utterance
from ollama_tts.errors import OutOfMemory
from ollama_tts.options import SpeechOptions
from tests.support.native import make_job, shape_of

REQUESTS = 2000
AT_ONCE = 60


def cramped_model(checkpoint: Checkpoint) -> NativeStepModel:
    """The tiny model with 16 slots, and keys and values for some ten utterances."""
    block = 2 * 2 * 64 * 64 * 2
    shape = replace(shape_of(checkpoint), mode="int8", slots=16, cache_bytes=10 * block)
    return NativeStepModel(checkpoint, shape, threads=1)


@contextlib.asynccontextmanager
async def engine(model: StepModel) -> AsyncIterator[Engine]:
    running = Engine(model, limits=Limits(model.geometry.slots, recover_s=0.05))
    yield running
    await running.close()


class Crowd:
    """Requests of every sort: most listen to the end, some leave at some point."""

    def __init__(self, checkpoint: Checkpoint, running: Engine) -> None:
        self.checkpoint, self.running = checkpoint, running
        self.random = random.Random(4)
        self.ends = {"done": 0, "left": 0, "cancelled": 0, "no memory": 0, "text": 0}
        self.sounds: dict[int, NDArray[np.float32]] = {}

    def job(self, number: int) -> Job:
        kind: Literal["speech", "text"] = "text" if number % 10 == 7 else "speech"
        seed, rng = number % 40, random.Random(number % 40)
        tokens = rng.randint(3, 30)
        return make_job(
            self.checkpoint, seed, length=rng.randint(2, 40), max_tokens=tokens, kind=kind
        )

    async def request(self, number: int) -> None:
        leaves = self.random.choice([None, None, None, "early", "late", "cancel"])
        utterance = Utterance(
            "text", "en",
            SpeechOptions(latency=self.random.choice(["low", "balanced", "exact"]),
                          priority=self.random.randint(-10, 10)),
            seed=0, index=number % 3, request_id=f"r{number // 3}",
        )  # fmt: skip
        try:
            if leaves == "cancel":
                await self.cancelled(number, utterance)
            elif number % 10 == 7:
                await self.running.write(self.job(number), utterance)
                self.ends["text"] += 1
            else:
                await self.listen(number, utterance, leaves)
        except OutOfMemory:
            self.ends["no memory"] += 1

    async def listen(self, number: int, utterance: Utterance, leaves: str | None) -> None:
        heard = list[NDArray[np.float32]]()
        async with contextlib.aclosing(self.running.speak(self.job(number), utterance)) as pieces:
            if leaves == "early":
                self.ends["left"] += 1
                return
            async for piece in pieces:
                heard.append(piece.samples)
                if leaves == "late" and self.random.random() < 0.5:
                    self.ends["left"] += 1
                    return
        self.ends["done"] += 1
        if utterance.options.latency == "exact":
            sound = np.concatenate(heard)
            first = self.sounds.setdefault(number % 40, sound)
            np.testing.assert_allclose(sound, first, atol=1e-5)

    async def cancelled(self, number: int, utterance: Utterance) -> None:
        task = asyncio.create_task(self.listen(number, utterance, None))
        for _ in range(self.random.randint(0, 30)):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        self.ends["cancelled"] += 1


def resident_bytes() -> int:
    """What this process holds in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_two_thousand_requests_leave_nothing_behind(tiny: Checkpoint) -> None:
    async with engine(cramped_model(tiny)) as running:
        many = Crowd(tiny, running)
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with gate:
                await many.request(number)

        await asyncio.gather(*(one(number) for number in range(200)))
        gc.collect()
        before_bytes = resident_bytes()
        await asyncio.gather(*(one(number) for number in range(200, REQUESTS)))
        gc.collect()
        assert resident_bytes() - before_bytes < 30 * 2**20
        assert running._boxes == set()
        # who left last is gone before the next one is started
        async for _ in running.speak(many.job(1), Utterance("", "en", SpeechOptions(), 0)):
            pass
        assert (running.stats.running, running.stats.waiting) == (0, 0)
        assert running.stats.back_offs > 0
    assert many.ends["done"] > REQUESTS / 3
    assert min(many.ends[end] for end in ("left", "cancelled", "text")) > 50
    assert many.ends["no memory"] == 0
