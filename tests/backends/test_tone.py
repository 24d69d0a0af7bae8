"""The diagnostic voice and the listener that reads it back."""

import asyncio
import threading

import numpy as np
import pytest
import soxr
from hypothesis import example, given, settings, strategies as st
from numpy.typing import NDArray

from ollama_tts.audio.pcm import to_int16
from ollama_tts.backends.tone.backend import ToneBackend, ToneRunner
from ollama_tts.backends.tone.chords import BANDS, SPACING_HZ, character, chord, pitches_hz
from ollama_tts.engine.utterance import Utterance
from ollama_tts.errors import Cancelled, EngineDead, InvalidOption, UnspeakableText
from ollama_tts.options import LoadOptions, SpeechOptions
from tests.support.local_models import local_model
from tests.support.tone_listener import listen, listen_s16

MODEL = local_model("tone", "tone")
anything = st.text(min_size=1, max_size=12)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def utterance(text: str, **options: object) -> Utterance:
    return Utterance(text, "en", SpeechOptions(**options), seed=1)  # type: ignore[arg-type]


async def say(runner: ToneRunner, what: Utterance) -> NDArray[np.float32]:
    return np.concatenate([piece.samples async for piece in runner.speak(what)])


def said(text: str, speed: float = 1.0) -> NDArray[np.float32]:
    return asyncio.run(say(ToneRunner(), utterance(text, speed=speed)))


@settings(max_examples=60, deadline=None)
@given(
    anything,
    st.sampled_from([16_000, 22_050, 24_000, 44_100, 48_000]),
    st.sampled_from([0.5, 0.8, 1.0, 1.5, 2.0]),
)
@example("Hello, wörld! 你好。\n\u2028😀\U0010ffff\x00 aaa", 16_000, 2.0)
def test_what_was_said_is_heard(text: str, sample_rate_hz: int, speed: float) -> None:
    samples = soxr.resample(said(text, speed), 24_000, sample_rate_hz)
    pcm = to_int16(samples.astype(np.float32)).astype("<i2").tobytes()
    assert listen_s16(pcm, sample_rate_hz) == text


@settings(max_examples=30, deadline=None)
@given(anything, anything, st.integers(0, 5_000), st.sampled_from([0.1, 1.0]))
def test_pauses_and_gain_do_not_matter(one: str, two: str, pause: int, gain: float) -> None:
    quiet = np.zeros(pause, np.float32)
    assert listen(np.concatenate([quiet, said(one), quiet, said(two)]) * gain, 24_000) == one + two


def test_silence_says_nothing() -> None:
    assert listen(np.zeros(0), 24_000) == listen(np.zeros(1000), 24_000) == ""


@given(st.characters())
def test_a_character_is_its_pitches(char: str) -> None:
    pitches = pitches_hz(char)
    assert character(pitches) == char
    assert max(pitches) < 8_000


def test_pitches_beyond_unicode_are_no_character() -> None:
    assert character([low + SPACING_HZ * (values - 1) for low, values in BANDS]) is None


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
def test_a_character_takes_40_ms(speed: float) -> None:
    samples = chord("x", speed)
    assert len(samples) == round(960 / speed)
    assert samples.dtype == np.float32
    assert np.abs(samples).max() < 0.4


async def test_pieces_of_five_characters() -> None:
    pieces = [piece async for piece in ToneRunner().speak(utterance("twelve chars"))]
    assert [len(piece.samples) for piece in pieces] == [4800, 4800, 1920]
    assert [(piece.steps, piece.finish) for piece in pieces] == [
        (10, None),
        (10, None),
        (4, "stop"),
    ]


async def test_the_same_text_is_always_the_same_sound() -> None:
    one = await say(ToneRunner(), utterance("again"))
    two = await say(ToneRunner(), Utterance("again", "zh", SpeechOptions(), seed=99))
    assert np.array_equal(one, two)
    assert ToneRunner().traits.deterministic


async def test_pace() -> None:
    """At a real-time factor of 0.5 half a second of sound takes a quarter of a second."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    await say(ToneRunner(), utterance("0123456789abc", tone_rate=0.5))
    assert loop.time() - began_s >= 0.26


async def test_leaving_while_it_paces() -> None:
    task = asyncio.create_task(say(ToneRunner(), utterance("x", tone_rate=100)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_close_while_it_paces() -> None:
    runner = ToneRunner()
    task = asyncio.create_task(say(runner, utterance("x", tone_rate=100)))
    await asyncio.sleep(0)
    await runner.close()
    with pytest.raises(EngineDead, match="unloaded"):
        await task


async def test_many_at_once_do_not_mix() -> None:
    runner = ToneRunner()
    texts = [f"caller number {number}" for number in range(8)]
    sounds = await asyncio.gather(*(say(runner, utterance(text)) for text in texts))
    assert [listen(sound, 24_000) for sound in sounds] == texts


async def test_what_it_refuses() -> None:
    runner = ToneRunner()
    with pytest.raises(UnspeakableText, match="empty text"):
        await say(runner, utterance(""))
    with pytest.raises(InvalidOption, match="must be one of tone, not 'heart'"):
        await say(runner, utterance("x", voice="heart"))
    runner.check(utterance("x", voice="TONE"))


def test_load() -> None:
    backend = ToneBackend()
    runner = backend.load(MODEL, LoadOptions(num_batch=3))
    assert runner.traits.slots == 3
    assert runner.memory == backend.estimate(MODEL, LoadOptions())
    assert runner.count("abc") == 3
    assert runner.traits.text_rules.alphabet == "any"


def test_a_long_load_is_given_up_when_asked() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        ToneBackend().load_until(MODEL, LoadOptions(tone_load_s=600), stop)
