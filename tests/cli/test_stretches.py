"""Text that comes in parts, spoken by a real node stretch by stretch."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from ollama_tts.cli.job import Job, Sound
from ollama_tts.cli.local import Local
from ollama_tts.cli.stretches import joined
from ollama_tts.client import SpeechChunk, SpeechEnd
from ollama_tts.errors import InvalidOption, InvalidRequest, UnspeakableText
from ollama_tts.node import Node
from tests.support.live import settings_for
from tests.support.tone_listener import listen_s16

TEXT = (
    "One sentence is here. Then 3.5 more (or so)! \u4f60\u597d\u3002\u518d\u89c1\u3002 And the last"
)
PCM = {"audio_format": "pcm"}


class Asked:
    """Speaks through a node and keeps what it was asked."""

    def __init__(self, node: Node) -> None:
        self._local = Local(node)
        self.texts: list[str] = []

    def __call__(self, text: str, options: Mapping[str, object]) -> Sound:
        self.texts.append(text)
        return self._local.speak(Job("tone", text, options))


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Asked]:
    async with Node(settings_for(tmp_path / "models")) as node:
        yield Asked(node)


async def said(job: Job, parts: AsyncIterator[str], ask: Asked) -> tuple[bytes, SpeechEnd]:
    events = [event async for event in joined(job, parts, ask)]
    *chunks, end = events
    assert isinstance(end, SpeechEnd)
    data = b"".join(chunk.data for chunk in chunks if isinstance(chunk, SpeechChunk))
    assert len(data) // 2 == round(end.duration_s * end.sample_rate_hz)
    return data, end


async def characters(text: str) -> AsyncIterator[str]:
    for character in text:
        yield character
        await asyncio.sleep(0)


async def at_once(text: str) -> AsyncIterator[str]:
    yield text


@pytest.mark.parametrize("cut", [characters, at_once])
async def test_nothing_is_lost_however_it_comes(ask: Asked, cut: object) -> None:
    assert callable(cut)
    data, end = await said(Job("tone", "", PCM), cut(TEXT), ask)
    assert "".join(ask.texts) == TEXT
    assert listen_s16(data, end.sample_rate_hz).replace(" ", "") == TEXT.replace(" ", "")
    assert end.utterances >= 4


async def test_a_stretch_goes_as_soon_as_it_is_complete(ask: Asked) -> None:
    heard = asyncio.Event()

    async def slow() -> AsyncIterator[str]:
        yield "The first sentence is long enough. And "
        await heard.wait()  # the rest is written only when the first has been heard
        yield "this is the second one."

    texts = []
    async with asyncio.timeout(30):
        async for event in joined(Job("tone", "", PCM), slow(), ask):
            if isinstance(event, SpeechChunk) and event.data:
                heard.set()
                texts.append(event.text)
    assert len(ask.texts) == 2
    assert "".join(texts).replace(" ", "") == "Thefirstsentenceislongenough.Andthisisthesecondone."


async def test_what_gathers_while_one_is_spoken_goes_together(ask: Asked) -> None:
    await said(Job("tone", "", PCM), at_once("One is here. Two is here. Three is here. " * 5), ask)
    assert len(ask.texts) <= 2


async def test_chunks_follow_each_other_in_time(ask: Asked) -> None:
    place_s = 0.0
    async for event in joined(Job("tone", "", PCM), characters(TEXT), ask):
        if isinstance(event, SpeechChunk):
            assert event.start_s == pytest.approx(place_s)
            place_s += event.duration_s


async def test_rates_that_a_format_lacks_are_resampled(ask: Asked) -> None:
    job = Job("tone", "", {"audio_format": "opus", "sample_rate": 22050})
    events = [event async for event in joined(job, at_once("Some text. And more."), ask)]
    end = events[-1]
    assert isinstance(end, SpeechEnd)
    assert (end.mime_type, end.sample_rate_hz) == ("audio/ogg", 24000)
    data = b"".join(event.data for event in events if isinstance(event, SpeechChunk))
    assert data.startswith(b"OggS")


async def test_a_wish_for_silence_between_sentences_is_kept(ask: Asked) -> None:
    text = "One sentence. Another one."
    lengths = []
    for pause_ms in (0, 1000):
        job = Job("tone", "", {**PCM, "pause_ms": pause_ms})
        data, end = await said(job, characters(text), ask)
        samples = np.frombuffer(data, "<i2")
        lengths.append(len(samples) / end.sample_rate_hz)
    assert lengths[1] - lengths[0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("text", ["", "\n\n", "   "])
async def test_nothing_to_say(ask: Asked, text: str) -> None:
    with pytest.raises(UnspeakableText):
        await said(Job("tone", "", PCM), at_once(text), ask)
    assert ask.texts == []


async def test_a_reader_that_fails_is_heard_of(ask: Asked) -> None:
    async def broken() -> AsyncIterator[str]:
        yield "A sentence that is complete. "
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await said(Job("tone", "", PCM), broken(), ask)


async def test_a_stretch_that_fails_ends_everything(ask: Asked) -> None:
    left = asyncio.Event()

    async def endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "Another sentence. "
                await asyncio.sleep(0)
        finally:
            left.set()

    with pytest.raises(InvalidOption, match="tone_rate"):
        await said(Job("tone", "", {**PCM, "tone_rate": 1000}), endless(), ask)
    assert ask.texts == []
    job = Job("tone", "", {**PCM, "voice": "nobody"})
    with pytest.raises(InvalidRequest, match="nobody"):
        await said(job, endless(), ask)
    assert left.is_set()
