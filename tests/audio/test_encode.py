import gc
import io
import os
import tracemalloc
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from av.audio.stream import AudioStream
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from ollama_tts.audio.compressed import CODECS
from ollama_tts.audio.encode import MIME_TYPES, Encoder, make_encoder, supported_rate_hz
from ollama_tts.audio.gapless import ENCODER_DELAY
from ollama_tts.audio.pcm import to_int16
from ollama_tts.errors import InvalidOption
from ollama_tts.options import AUDIO_FORMATS
from tests.support.sounds import CUTS, Sound, buzz, pieces, pitch_hz, sine

FORMATS = sorted(AUDIO_FORMATS)
EXACT = ("wav", "pcm", "flac", "opus")
RATES_HZ = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]
EXISTING = [
    (name, rate_hz)
    for name in FORMATS
    for rate_hz in RATES_HZ
    if supported_rate_hz(name, rate_hz) == rate_hz
]


def encode(encoder: Encoder, parts: list[Sound]) -> bytes:
    return b"".join([*(encoder.feed(part) for part in parts), encoder.finish()])


def decode(data: bytes, name: str, sample_rate_hz: int) -> NDArray[np.float64]:
    """The sound in a file by FFmpeg's decoders, float64 [N] at the decoder's own rate."""
    if name == "pcm":
        return np.frombuffer(data, "<i2") / 32767
    with av.open(io.BytesIO(data), "r") as container:
        stream = container.streams.audio[0]
        assert isinstance(stream, AudioStream)
        frames = [frame.to_ndarray()[0] for frame in container.decode(stream)]
    sound = np.concatenate(frames)
    return sound / 32767 if sound.dtype.kind == "i" else sound.astype(np.float64)


def decoded_hz(name: str, sample_rate_hz: int) -> int:
    return 48_000 if name == "opus" else sample_rate_hz


def test_the_formats_are_those_of_the_option() -> None:
    assert sorted(MIME_TYPES) == FORMATS


@settings(max_examples=30, deadline=None)
@given(
    cuts=CUTS,
    existing=st.sampled_from(EXISTING),
    whole=st.booleans(),
    count=st.sampled_from([0, 1, 479, 480, 1024, 9999, 16_000]),
)
def test_however_it_is_cut_the_bytes_are_the_same(
    cuts: list[int], existing: tuple[str, int], whole: bool, count: int
) -> None:
    sound = buzz(1.0, 16_000)[:count]
    cut = encode(make_encoder(*existing, whole=whole), pieces(sound, cuts))
    assert cut == encode(make_encoder(*existing, whole=whole), [sound])


@pytest.mark.parametrize(("name", "rate_hz"), EXISTING)
def test_what_has_arrived_after_300_ms_can_be_heard(name: str, rate_hz: int) -> None:
    encoder = make_encoder(name, rate_hz)
    parts = np.array_split(sine(0.3, rate_hz), 30)
    arrived = b"".join(encoder.feed(part) for part in parts)
    delay = 1105 if name == "mp3" else 0  # what came of it is taken away by the decoder
    assert len(decode(arrived, name, rate_hz)) + delay >= 0.1 * decoded_hz(name, rate_hz)


@pytest.mark.parametrize("name", ["pcm", "wav", "opus"])
def test_these_formats_are_no_later_than_a_page_of_20_ms(name: str) -> None:
    encoder = make_encoder(name, 24_000)
    arrived = b"".join(encoder.feed(part) for part in np.split(sine(0.1, 24_000), 10))
    assert len(decode(arrived, name, 24_000)) >= 0.07 * decoded_hz(name, 24_000)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("name", "rate_hz"), EXISTING)
def test_duration_pitch_and_loudness_are_kept(name: str, rate_hz: int, whole: bool) -> None:
    sound = sine(1.0, rate_hz)[: rate_hz - 123]
    heard = decode(encode(make_encoder(name, rate_hz, whole=whole), [sound]), name, rate_hz)
    heard_hz = decoded_hz(name, rate_hz)
    longer_s = len(heard) / heard_hz - len(sound) / rate_hz
    if name in EXACT or (name == "mp3" and whole):
        assert longer_s == pytest.approx(0.0, abs=0.001)
    else:
        framed = 1152 if name == "mp3" else 1024 + 1024  # the last frame, and AAC's delay
        assert 0 <= longer_s <= framed / rate_hz
    inner = heard[heard_hz // 4 : -heard_hz // 4]
    assert pitch_hz(inner, heard_hz) == pytest.approx(440.0, abs=1.0)
    assert np.sqrt(np.mean(inner**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.06)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", ["wav", "pcm", "flac"])
def test_lossless_formats_hold_the_very_samples(name: str, whole: bool) -> None:
    sound = 1.5 * buzz(0.7, 24_000)
    data = encode(make_encoder(name, 24_000, whole=whole), pieces(sound, [1, 500, 9999]))
    heard = decode(data, name, 24_000)
    assert np.array_equal(np.rint(heard * 32767), to_int16(sound))


@pytest.mark.parametrize("name", FORMATS)
def test_streamed_and_whole_hold_the_same_sound(name: str) -> None:
    sound = buzz(0.7, 24_000)
    streamed = decode(encode(make_encoder(name, 24_000), [sound]), name, 24_000)
    whole = decode(encode(make_encoder(name, 24_000, whole=True), [sound]), name, 24_000)
    assert np.array_equal(streamed[: len(whole)], whole)


@pytest.mark.parametrize(
    ("name", "mark"), [("wav", b"RIFF"), ("flac", b"fLaC"), ("opus", b"OpusHead")]
)
def test_there_is_one_header(name: str, mark: bytes) -> None:
    data = encode(make_encoder(name, 24_000), pieces(buzz(1.0, 24_000), [3000, 6000, 9000]))
    assert data.count(mark) == 1
    assert data.index(mark) < 64


@pytest.mark.parametrize("name", ["wav", "mp3", "flac", "opus"])
def test_whole_files_tell_their_length_exactly(name: str) -> None:
    sound = buzz(0.777, 24_000)
    data = encode(make_encoder(name, 24_000, whole=True), [sound])
    assert soundfile.info(io.BytesIO(data)).frames == len(sound)


@pytest.mark.parametrize("rate_hz", [8000, 22_050, 24_000, 32_000, 44_100, 48_000])
def test_a_streamed_mp3_tells_its_delay_and_no_length(rate_hz: int) -> None:
    sound = buzz(1.0, rate_hz)
    data = encode(make_encoder("mp3", rate_hz), pieces(sound, [2000]))
    whole = encode(make_encoder("mp3", rate_hz, whole=True), [sound])
    assert data.count(b"Info") == 1
    tag = data.index(b"Info")
    assert data[tag + 4 : tag + 8] == bytes([0, 0, 0, 2]), "no frames, no contents"
    told = whole.index(b"Info") + 120 + 21  # behind counts and contents
    assert data[tag + 12 + 21] << 4 | data[tag + 12 + 22] >> 4 == ENCODER_DELAY
    assert whole[told] << 4 | whole[told + 1] >> 4 == ENCODER_DELAY
    samples, _ = soundfile.read(io.BytesIO(data))  # its decoder skips the frame, not the delay
    assert len(sound) <= len(samples) <= len(sound) + 1105 + 1152


def test_a_whole_file_comes_at_the_end() -> None:
    for name in set(FORMATS) - {"pcm"}:
        encoder = make_encoder(name, 24_000, whole=True)
        assert encoder.feed(sine(1.0, 24_000)) == b""
        assert len(encoder.finish()) > 100


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", FORMATS)
def test_nothing_comes_after_the_end(name: str, whole: bool) -> None:
    encoder = make_encoder(name, 24_000, whole=whole)
    encode(encoder, [sine(0.1, 24_000)])
    assert encoder.finish() == b""


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", FORMATS)
def test_nothing_can_be_fed_after_the_end(name: str, whole: bool) -> None:
    encoder = make_encoder(name, 24_000, whole=whole)
    encoder.finish()
    with pytest.raises(ValueError, match="this encoder has finished"):
        encoder.feed(sine(0.1, 24_000))


@pytest.mark.parametrize("name", FORMATS)
def test_two_files_at_once_share_nothing(name: str) -> None:
    first, second = buzz(0.5, 24_000, seed=1), buzz(0.5, 24_000, seed=2)
    alone = [encode(make_encoder(name, 24_000), [sound]) for sound in (first, second)]
    one, other = make_encoder(name, 24_000), make_encoder(name, 24_000)
    mixed = [b"", b""]
    for a, b in zip(np.split(first, 25), np.split(second, 25), strict=True):
        mixed[0] += one.feed(a)
        mixed[1] += other.feed(b)
    assert [mixed[0] + one.finish(), mixed[1] + other.finish()] == alone


@pytest.mark.parametrize("name", FORMATS)
def test_an_encoder_tells_what_it_writes(name: str) -> None:
    encoder = make_encoder(name, 16_000)
    assert (encoder.mime_type, encoder.sample_rate_hz, encoder.channels) == (
        MIME_TYPES[name],
        16_000,
        1,
    )


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("name", sorted(CODECS))
def test_cancelled_answers_leave_no_native_memory_behind(name: str) -> None:
    def cancelled() -> None:
        make_encoder(name, 24_000).feed(sine(0.5, 24_000))

    gc.disable()
    try:
        for _ in range(5):
            cancelled()
        before = resident_bytes()
        for _ in range(40):
            cancelled()
        grown = resident_bytes() - before
    finally:
        gc.enable()
    assert grown < 4 * 1024**2  # without care: 4 to 280 MB


@pytest.mark.parametrize("name", ["pcm", "wav", "flac", "opus"])
def test_memory_stays_flat_however_long_the_answer(name: str) -> None:
    encoder = make_encoder(name, 8000)
    second = buzz(1.0, 8000)
    encoder.feed(second)
    tracemalloc.start()
    try:
        for _ in range(60):
            encoder.feed(second)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 64 * 1024  # a minute is 960,000 bytes


@pytest.mark.parametrize(
    ("name", "wanted_hz", "expected_hz"),
    [
        ("wav", 22_050, 22_050), ("pcm", 37_123, 37_123), ("flac", 11_111, 11_111),
        ("opus", 8000, 8000), ("opus", 11_025, 12_000), ("opus", 22_050, 24_000),
        ("opus", 24_000, 24_000), ("opus", 44_100, 48_000),
        ("mp3", 22_050, 22_050), ("mp3", 24_001, 32_000), ("mp3", 47_000, 48_000),
        ("aac", 9000, 11_025), ("aac", 44_100, 44_100),
        ("wav", 4000, 8000), ("mp3", 96_000, 48_000),
    ],
)  # fmt: skip
def test_a_rate_that_a_format_lacks_becomes_the_next_higher(
    name: str, wanted_hz: int, expected_hz: int
) -> None:
    assert supported_rate_hz(name, wanted_hz) == expected_hz
    assert make_encoder(name, expected_hz).sample_rate_hz == expected_hz


@given(st.sampled_from(FORMATS), st.integers(8000, 48_000))
def test_every_rate_has_a_supported_one_that_loses_nothing(name: str, wanted_hz: int) -> None:
    rate_hz = supported_rate_hz(name, wanted_hz)
    assert wanted_hz <= rate_hz <= 48_000
    assert supported_rate_hz(name, rate_hz) == rate_hz


def test_any_rate_in_between_really_works_where_it_is_claimed() -> None:
    for name in ("wav", "pcm", "flac"):
        data = encode(make_encoder(name, 12_345), [sine(0.5, 12_345)])
        assert len(decode(data, name, 12_345)) == round(0.5 * 12_345)


@pytest.mark.parametrize("name", ["ogg", "WAV", "", "m4a"])
def test_an_unknown_format_is_refused_with_the_known_ones(name: str) -> None:
    message = f"audio_format {name!r} must be one of wav, pcm, mp3, opus, flac, aac"
    with pytest.raises(InvalidOption) as refused:
        make_encoder(name, 24_000)
    assert str(refused.value) == message
    with pytest.raises(InvalidOption):
        supported_rate_hz(name, 24_000)


@pytest.mark.parametrize(
    ("name", "rate_hz", "allowed"),
    [
        ("opus", 44_100, "8000, 12000, 16000, 24000, 48000 Hz"),
        ("mp3", 23_000, "8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000 Hz"),
        ("wav", 7999, "8000 to 48000 Hz"),
        ("flac", 48_001, "8000 to 48000 Hz"),
    ],
)
def test_a_rate_that_a_format_lacks_is_refused(name: str, rate_hz: int, allowed: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        make_encoder(name, rate_hz)
    assert str(refused.value) == (
        f"sample_rate {rate_hz} does not exist in audio_format {name!r}, which takes {allowed}"
    )
