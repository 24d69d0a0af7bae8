"""Single Opus packets: each is 20 ms; together they are the sound, late by the codec's delay."""

import av
import numpy as np
import pytest
from av.audio.codeccontext import AudioCodecContext
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from ollama_tts.audio.packets import DELAY_S, OPUS_RATES_HZ, PACKET_S, OpusPackets

OUT_HZ = 48_000


def chirp(seconds: float, rate_hz: int) -> NDArray[np.int16]:
    at_s = np.arange(round(seconds * rate_hz)) / rate_hz
    return (12_000 * np.sin(2 * np.pi * (300 + 500 * at_s) * at_s)).astype(np.int16)


def packets_of(samples: NDArray[np.int16], rate_hz: int, *cuts: int) -> list[bytes]:
    encoder = OpusPackets(rate_hz)
    fed = [packet for part in np.split(samples, cuts) for packet in encoder.feed(part)]
    return [*fed, *encoder.finish()]


def decode(packets: list[bytes]) -> NDArray[np.int16]:
    codec = av.CodecContext.create("libopus", "r")
    assert isinstance(codec, AudioCodecContext)
    codec.sample_rate = OUT_HZ
    codec.layout = "mono"
    frames = [frame for packet in packets for frame in codec.decode(av.Packet(packet))]
    assert len(frames) == len(packets)
    assert {frame.samples for frame in frames} == {round(PACKET_S * OUT_HZ)}
    return np.concatenate([frame.to_ndarray()[0] for frame in frames])


@pytest.mark.parametrize("rate_hz", OPUS_RATES_HZ)
def test_the_sound_comes_back_late_by_the_delay(rate_hz: int) -> None:
    heard = decode(packets_of(chirp(1.013, rate_hz), rate_hz)).astype(np.float64)
    late = round(DELAY_S * OUT_HZ)
    wanted = chirp(1.013, OUT_HZ).astype(np.float64)
    assert len(heard) >= late + len(wanted), "the end of the sound must come out"
    assert len(heard) <= late + len(wanted) + 2 * PACKET_S * OUT_HZ
    got = heard[late : late + len(wanted)]
    correlation = np.corrcoef(got[2000:-2000], wanted[2000:-2000])[0, 1]
    assert correlation > 0.98
    assert np.abs(heard[late + len(wanted) + 500 :]).max(initial=0) < 2000


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 24_000), max_size=8).map(sorted))
def test_however_the_sound_is_cut_the_packets_are_the_same(cuts: list[int]) -> None:
    samples = chirp(1.0, 24_000)
    assert packets_of(samples, 24_000, *cuts) == packets_of(samples, 24_000)


def test_packets_are_encoded_as_they_are_asked_for() -> None:
    encoder = OpusPackets(24_000)
    asked = encoder.feed(chirp(10.0, 24_000))
    next(asked)
    asked.close()  # type: ignore[attr-defined]  # it is a generator
    assert len([*encoder.feed(chirp(0.02, 24_000))]) == 1


def test_no_sound_is_silence_or_nothing() -> None:
    assert packets_of(np.zeros(0, np.int16), 24_000) == []
    one = decode(packets_of(np.zeros(1, np.int16), 24_000))
    assert np.abs(one).max() == 0


def test_a_rate_that_opus_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="44100"):
        OpusPackets(44_100)
