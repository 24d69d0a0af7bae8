"""Voices by name, by number, by string, by recording; and what is none is refused with a reason."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.clip import read_mono
from ollama_tts.backends.chattts.recording import RecordingEncoder
from ollama_tts.backends.chattts.reference import Chat, quiet
from ollama_tts.backends.chattts.speaker import encode_codes
from ollama_tts.backends.chattts.voice_names import listed
from ollama_tts.backends.chattts.voices import VoiceBook
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, Sampling
from ollama_tts.errors import InvalidOption, InvalidWeights
from tests.backends.chattts.conftest import pitch_hz, prompter, sentences, voice
from tests.support.chattts import run_alone, step_model

CODES = np.arange(20, dtype=np.int32).reshape(4, 5)


def no_encoder(path: Path) -> NDArray[np.int32]:
    raise AssertionError(path)


def book(mini: Checkpoint, adapters: Mapping[str, Path] | None = None) -> VoiceBook:
    return VoiceBook(mini.config, mini.speakers(), adapters or {}, lambda _path: CODES)


def test_found_by_name_number_and_string(mini: Checkpoint) -> None:
    found = book(mini)
    anna = found.find("anna").vector
    assert anna is not None
    default = found.find(None).vector
    assert default is not None
    np.testing.assert_array_equal(default, anna)
    np.testing.assert_array_equal(found.find(f" {mini.speakers()['anna']}\n").vector, anna)
    drawn = [found.find(f"seed:{n}").vector for n in (1, 1, 2, -5)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert drawn[0] is not None
    assert drawn[2] is not None
    assert not np.array_equal(drawn[0], drawn[2])
    spoken = found.find(encode_codes(CODES)).codes
    np.testing.assert_array_equal(spoken, CODES)


def test_without_names_one_voice_is_always_the_same(tiny: Checkpoint) -> None:
    found = VoiceBook(tiny.config, {}, {}, no_encoder)
    assert [voice.id for voice in found.voices] == ["seed:2"]
    np.testing.assert_array_equal(found.find(None).vector, found.find("seed:2").vector)


@pytest.mark.parametrize(
    "name", ["no-such-voice", "虁淰敝虁", "", "seed:", "seed:x", "Anna", "乀" * 90]
)
def test_unknown_voices(mini: Checkpoint, name: str) -> None:
    with pytest.raises(InvalidOption, match=r"'voice' must be one of anna, ben, seed:N, or a") as e:
        book(mini).find(name)
    assert len(str(e.value)) < 300


def test_adapters(mini: Checkpoint, tmp_path: Path) -> None:
    for name, text in {
        "eve.txt": mini.speakers()["ben"] + "\n",
        "clip.txt": encode_codes(CODES),
        "dan.txt": "what dan says",
        "dan.wav": "sound",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = book(mini, {p.name: p for p in tmp_path.iterdir()})
    assert {v.id for v in found.voices} == {"anna", "ben", "eve", "clip", "dan"}
    assert [v.id for v in found.voices if v.cloned] == ["dan"]
    np.testing.assert_array_equal(found.find("eve").vector, found.find("ben").vector)
    np.testing.assert_array_equal(found.find("clip").codes, CODES)
    assert found.find("dan").said == "what dan says"
    np.testing.assert_array_equal(found.find("dan").codes, CODES)


def test_adapters_that_hold_no_voice(mini: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("not a speaker")
    with pytest.raises(InvalidWeights, match="voice 'x': this is not a speaker string"):
        book(mini, {"x.txt": tmp_path / "x.txt"})
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidWeights, match=r"adapter 'x\.bin' is neither a speaker string nor"):
        book(mini, {"x.bin": tmp_path / "x.bin"})


@pytest.fixture(scope="module")
def clip(mini: Checkpoint) -> NDArray[np.float32]:
    """The mini model's ben, as a recording of the least length."""
    row = next(s for s in sentences() if s.id == "ben_en03")
    model = step_model(mini, slots=1)
    prompt = prompter(mini).speech(row.text, row.language, voice(mini, row.speaker))
    sound = run_alone(model, Job(prompt, Sampling(), 0, 300)).sound
    return np.pad(sound, (0, max(0, 3 * 24_000 - len(sound))))


@pytest.mark.filterwarnings("ignore")
def test_recordings_are_encoded_as_upstream_does(
    mini: Checkpoint, mini_chat: Chat, clip: NDArray[np.float32], tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "clip.wav", clip, 24_000, subtype="FLOAT")
    ours = RecordingEncoder(mini)(tmp_path / "clip.wav")
    with quiet():
        theirs = mini_chat.dvae.sample_audio(clip.copy()).numpy()
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.filterwarnings("ignore")
def test_a_recording_gives_its_voice(
    mini: Checkpoint, clip: NDArray[np.float32], tmp_path: Path
) -> None:
    """Any rate, any channels; what comes out has the pitch of what went in."""
    path = tmp_path / "ben2.wav"
    soundfile.write(path, np.stack([clip, clip], 1), 24_000)
    row = next(s for s in sentences() if s.id == "ben_en03")
    (tmp_path / "ben2.txt").write_text(row.text)
    adapters = {p.name: p for p in tmp_path.iterdir()}
    found = VoiceBook(mini.config, {}, adapters, RecordingEncoder(mini)).find("ben2")
    other = next(s for s in sentences() if s.id == "ben_en08")
    prompt = prompter(mini).speech(other.text, "en", found)
    made = run_alone(step_model(mini, slots=1), Job(prompt, Sampling(), 0, 300))
    assert len(made.codes) > 40
    assert pitch_hz(made.sound) == pytest.approx(pitch_hz(clip), rel=0.2)


def test_recordings_that_cannot_be_used(mini: Checkpoint, tmp_path: Path) -> None:
    for name, samples, message in (
        ("short", np.ones(2 * 24_000), r"must last 3 to 30 s, not 2\.0 s"),
        ("long", np.ones(31 * 24_000), "must last 3 to 30 s, not more"),
        ("silent", np.zeros(4 * 24_000), "silent"),
    ):
        soundfile.write(tmp_path / f"{name}.wav", samples, 24_000)
        with pytest.raises(InvalidWeights, match=message):
            read_mono(tmp_path / f"{name}.wav")
    (tmp_path / "text.wav").write_text("no sound")
    with pytest.raises(InvalidWeights, match="cannot be read"):
        read_mono(tmp_path / "text.wav")
    lacking = Checkpoint({k: v for k, v in mini.files.items() if k != layout.DVAE})
    with pytest.raises(InvalidWeights, match=r"DVAE\.safetensors"):
        RecordingEncoder(lacking)(tmp_path / "silent.wav")


def test_other_rates_are_converted(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", 0.1 * np.sin(np.arange(4 * 48_000) / 20), 48_000)
    assert len(read_mono(tmp_path / "a.wav")) == 4 * 24_000


@pytest.mark.parametrize(
    "names", [(), ("anna.txt",), ("zoe.txt", "carl.wav", "carl.txt"), ("v/carl.flac",)]
)
@pytest.mark.parametrize("speakers", [{}, {"anna": "", "ben": ""}])
def test_the_list_of_names_is_that_of_the_loaded_voices(
    names: tuple[str, ...], speakers: dict[str, str], mini: Checkpoint, tmp_path: Path
) -> None:
    string = next(iter(mini.speakers().values()))
    (tmp_path / "v").mkdir()
    for name in names:
        (tmp_path / name).write_text(string)
    adapters = {name: tmp_path / name for name in names}
    spelled = dict.fromkeys(speakers, string)
    loaded = VoiceBook(mini.config, spelled, adapters, lambda _path: CODES)
    assert listed(spelled, adapters) == loaded.voices
