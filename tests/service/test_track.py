"""The sound of an answer: the bytes do not depend on how it was cut."""

import io
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from ollama_tts.audio.stitch import PAUSES_MS
from ollama_tts.backends.base import Traits, Voice
from ollama_tts.errors import TooLarge
from ollama_tts.options import SpeechOptions
from ollama_tts.service import track
from ollama_tts.service.track import Track
from ollama_tts.text.rules import TextRules

RATE_HZ = 24_000


def traits(*, native_speed: bool = False) -> Traits:
    return Traits(
        sample_rate_hz=RATE_HZ,
        step_samples=480,
        text_rules=TextRules(),
        voices=(Voice("v", "V", "en"),),
        native_speed=native_speed,
        deterministic=True,
        gain_db=0.0,
        slots=1,
        context_length=0,
        notes={},
    )


def sine(seconds: float, amplitude: float = 0.5) -> NDArray[np.float32]:
    time_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    return (amplitude * np.sin(2 * np.pi * 440 * time_s)).astype(np.float32)


def write(
    utterances: list[NDArray[np.float32]],
    cuts: list[int],
    *,
    whole: bool = False,
    **options: object,
) -> tuple[bytes, Track]:
    track = Track(traits(), SpeechOptions(**options), stretch=1.0, whole=whole)  # type: ignore[arg-type]
    data = b""
    sounded_s = 0.0
    for samples in utterances:
        track.begin("sentence")
        for piece in np.split(samples, sorted(cut for cut in cuts if cut < len(samples))):
            written = track.feed(piece)
            assert written.start_s == pytest.approx(sounded_s)
            sounded_s += written.duration_s
            data += written.data
        written = track.end()
        sounded_s += written.duration_s
        data += written.data
    written = track.finish()
    assert sounded_s + written.duration_s == pytest.approx(track.duration_s)
    return data + written.data, track


@settings(max_examples=25, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 9000), max_size=6),
    rate=st.sampled_from([None, 8000, 44100, 48000]),
    speed=st.sampled_from([0.7, 1.0, 1.6]),
)
def test_however_it_is_cut_the_bytes_are_the_same(
    cuts: list[int], rate: int | None, speed: float
) -> None:
    sound = [sine(0.2), sine(0.3)]
    options: dict[str, Any] = {"audio_format": "pcm", "sample_rate": rate, "speed": speed}
    assert write(sound, cuts, **options)[0] == write(sound, [], **options)[0]


def test_streamed_and_whole_hold_the_same_samples() -> None:
    sound = [sine(0.2), sine(0.3)]
    streamed, _ = write(sound, [777], whole=False)
    whole, _ = write(sound, [777], whole=True)
    assert streamed[44:] == whole[44:]
    assert streamed[4:8] == b"\xff\xff\xff\xff"
    samples, rate_hz = soundfile.read(io.BytesIO(whole), dtype="int16")
    assert rate_hz == RATE_HZ
    assert samples.tobytes() == whole[44:]


def test_speed_stretches_what_the_voice_does_not() -> None:
    _, usual = write([sine(1.0)], [])
    _, fast = write([sine(1.0)], [], speed=2.0)
    assert fast.duration_s == pytest.approx(usual.duration_s / 2, rel=0.05)


def test_pause_between_utterances_follows_the_option() -> None:
    _, usual = write([sine(0.3), sine(0.3)], [])
    _, none = write([sine(0.3), sine(0.3)], [], pause_ms=0)
    sentence_s = PAUSES_MS["sentence"] / 1000
    assert usual.duration_s - none.duration_s == pytest.approx(sentence_s, abs=0.02)


def test_too_loud_bends_and_never_wraps() -> None:
    data, _ = write([sine(0.5, amplitude=1.2)], [], audio_format="pcm")
    samples = np.frombuffer(data, "<i2").astype(np.int32)
    assert (samples.max(), samples.min()) == (32767, -32767)
    assert np.abs(np.diff(samples)).max() < 8000


def test_gain_is_applied_once() -> None:
    data, _ = write([sine(0.5)], [], audio_format="pcm", gain_db=-6.0206)
    assert np.frombuffer(data, "<i2").max() == pytest.approx(0.25 * 32767, rel=0.01)


def test_mime_and_rate_tell_what_was_written() -> None:
    _, track = write([sine(0.2)], [], audio_format="opus", sample_rate=22050)
    assert track.audio.mime_type == "audio/ogg"
    assert track.audio.sample_rate_hz in {24000, 48000}


def test_an_answer_in_one_piece_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(track, "WHOLE_BYTES", 2 * RATE_HZ)
    with pytest.raises(TooLarge, match="stream it"):
        write([sine(3.0)], [], whole=True)
    assert write([sine(3.0)], [])[1].duration_s > 2.9


def test_no_gain_makes_a_sample_clip_or_wrap() -> None:
    loud = sine(0.3, amplitude=0.9)
    plain = np.frombuffer(write([loud], [], audio_format="pcm")[0], "<i2").astype(int)
    for rate_hz in (RATE_HZ, 48_000):
        data, _ = write([loud], [], audio_format="pcm", gain_db=24.0, sample_rate=rate_hz)
        louder = np.frombuffer(data, "<i2").astype(int)
        assert np.abs(louder).max() == 32767
        if rate_hz == RATE_HZ:
            assert np.all(louder * plain >= 0)
            assert np.all(np.abs(louder) >= np.abs(plain))


def test_sound_that_is_cut_off_in_its_middle_fades() -> None:
    samples = sine(0.2)[:-13]  # ends far from zero
    data, _ = write([samples], [], audio_format="pcm", gain_db=6.0)
    last = np.frombuffer(data, "<i2")[-120:].astype(int)
    assert abs(last[-1]) < 40
    assert np.abs(np.diff(last)).max() < 4000
    assert np.abs(last[:30]).max() > 10 * np.abs(last[-10:]).max()


@pytest.mark.parametrize("speed", [1.0, 1.3])
def test_denoised_sound_does_not_depend_on_the_cuts_either(speed: float) -> None:
    noise = np.random.default_rng(1).standard_normal(RATE_HZ).astype(np.float32)
    sound = sine(1.0) + 0.02 * noise
    answers = []
    for cuts in ([], [1, 700, 701, 9000, 23_999]):
        options = SpeechOptions(audio_format="pcm", speed=speed)
        made = Track(traits(), options, stretch=1.0, whole=False)
        made.begin("sentence", denoise=True)
        parts = [made.feed(piece).data for piece in np.split(sound, cuts)]
        answers.append(b"".join([*parts, made.end().data, made.finish().data]))
    assert answers[0] == answers[1]
    assert len(answers[0]) == 2 * round(RATE_HZ / speed)
