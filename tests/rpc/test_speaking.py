"""Streams against a live door: whose text came back, in which packets, with which marks."""

from pathlib import Path

import pytest

from ollama_tts.protocol.pb.tts_pb2 import CANCEL, END, FLUSH
from tests.rpc.conftest import open_rpc
from tests.support.rpc import Rpc, Stream, heard, heard_opus, sound


def test_text_token_by_token_comes_back_as_one_turn(rpc: Rpc) -> None:
    stream = rpc.stream(client_ts=42)
    for token in ("It ", "is ", "twelve", " o'clock. ", "Good", " night."):
        stream.send(text=token)
    responses = [*stream.close()]
    assert heard(responses).replace(" ", "") == "Itistwelveo'clock.Goodnight."
    assert [response.seq for response in responses] == list(range(len(responses)))
    assert {response.turn for response in responses} == {0}
    assert {response.client_ts for response in responses} == {42}
    assert [response.is_final for response in responses] == [False] * (len(responses) - 1) + [True]
    assert "".join(response.text for response in responses) == "It is twelve o'clock. Good night."
    marked = [response for response in responses if response.text]
    assert [(m.text_start, m.text_end) for m in marked] == [(0, 22), (22, 33)]
    stamps = [response.server_ts for response in responses]
    assert stamps == sorted(stamps)
    end_s = 0.0
    for response in responses[:-1]:
        assert response.start_s == pytest.approx(end_s)
        end_s += response.duration_s
        assert response.duration_s * response.sample_rate * 2 == pytest.approx(len(response.pcm))
    last = responses[-1]
    assert last.duration_s == pytest.approx(end_s)
    assert last.done_reason == "stop"
    assert last.first_audio_ms > 0


@pytest.mark.parametrize("rate_hz", [16_000, 24_000, 48_000])
def test_opus_packets_of_20_ms_are_the_default(rpc: Rpc, rate_hz: int) -> None:
    stream = Stream(rpc.channel)
    options = {"sample_rate": str(rate_hz), "pause_ms": "0"}
    stream.send(model="tone", options=options, text="Packets, one by one.", control=END)
    responses = [*stream.close()]
    assert heard_opus(responses).replace(" ", "") == "Packets,onebyone."
    packets, last = responses[:-1], responses[-1]
    assert all(response.opus for response in packets)
    assert not last.opus
    assert {response.sample_rate for response in packets} == {rate_hz}
    assert {round(response.duration_s, 9) for response in packets} == {0.02}
    for number, response in enumerate(packets):
        assert response.start_s == pytest.approx(number * 0.02)
    assert 0 <= len(packets) * 0.02 - last.duration_s <= 0.04


def test_rates_that_opus_lacks_become_the_next_higher(rpc: Rpc) -> None:
    stream = rpc.stream({"audio_format": "opus", "sample_rate": "22050"}, text="up")
    responses = [*stream.close()]
    assert responses[0].sample_rate == 24_000
    assert heard_opus(responses) == "up"


def test_each_turn_has_its_own_format_and_its_own_encoder(rpc: Rpc) -> None:
    stream = rpc.stream(text="one", control=END)
    first = stream.turn()
    stream.send(options={"audio_format": "opus", "pause_ms": "0"}, text="two", control=END)
    second = stream.turn()
    stream.send(options={"audio_format": "pcm", "pause_ms": "0", "sample_rate": "48000"})
    stream.send(text="three").close()
    third = stream.turn()
    assert (heard(first), heard_opus(second), heard(third)) == ("one", "two", "three")
    assert [turn[0].turn for turn in (first, second, third)] == [0, 1, 2]
    assert [turn[0].seq for turn in (first, second, third)] == [0, 0, 0]


def test_flush_speaks_at_once_and_the_turn_goes_on(rpc: Rpc) -> None:
    stream = rpc.stream(text="no end", control=FLUSH)
    first = stream.next()
    stream.send(text="more", control=END)
    responses = [first, *stream.turn()]
    assert heard(responses).replace(" ", "") == "noendmore"
    assert {response.turn for response in responses} == {0}
    stream.close()


@pytest.mark.parametrize("audio_format", ["pcm", "opus"])
@pytest.mark.parametrize("rate", ["1.0", "0"])
def test_cancel_lets_nothing_of_the_turn_follow_and_the_next_starts_clean(
    own_rpc: Rpc, audio_format: str, rate: str
) -> None:
    options = {"audio_format": audio_format, "tone_rate": rate}
    stream = own_rpc.stream(options, text="this is never heard to its end, it is too long. " * 40)
    stream.send(control=FLUSH)
    stream.next()
    stream.send(control=CANCEL, text="next", client_ts=7).send(control=END)
    cancelled = stream.turn()
    responses = stream.turn()
    assert cancelled[-1].done_reason == "cancel"
    assert {response.turn for response in cancelled} == {0}
    assert {response.turn for response in responses} == {1}
    assert responses[0].seq == 0
    assert {response.client_ts for response in responses} == {7}
    assert (heard_opus if audio_format == "opus" else heard)(responses) == "next"
    assert [*stream.close()] == []
    own_rpc.live.until(lambda node: node.scheduler.active == 0)


def test_cancel_of_a_turn_without_sound_and_of_none(rpc: Rpc) -> None:
    stream = rpc.stream(control=CANCEL).send(text="never flushed").send(control=CANCEL)
    [only] = stream.turn()
    assert (only.turn, only.done_reason, only.pcm) == (0, "cancel", b"")
    stream.send(text="then").close()
    assert heard([*stream]) == "then"


def test_a_long_text_comes_in_messages_far_below_the_default_limit(rpc: Rpc) -> None:
    text = "A sentence that takes its time to be said by this voice. " * 40
    stream = rpc.stream({"sample_rate": "48000"}, text=text)
    responses = [*stream.close()]
    assert len(sound(responses)) > 4 * 1024 * 1024
    assert max(response.ByteSize() for response in responses) < 64 * 1024
    assert "".join(response.text for response in responses) == text
    assert heard(responses).replace(" ", "") == text.replace(" ", "")


def test_model_system_and_keep_alive_may_come_alone(tmp_path: Path) -> None:
    with open_rpc(tmp_path / "models", default_model="tone") as rpc:
        stream = Stream(rpc.channel).send(options={"audio_format": "pcm"})
        assert heard([*stream.send(text="default").close()]) == "default"
        rpc.live.until(lambda node: len(node.scheduler.loaded()) == 1)
        stream = Stream(rpc.channel).send(system="softly").send(keep_alive="0s")
        assert heard_opus([*stream.send(model="TONE", text="gone").close()]) == "gone"
        rpc.live.until(lambda node: node.scheduler.loaded() == [])


def test_a_stream_of_nothing_but_text_is_spoken_by_the_default_model(tmp_path: Path) -> None:
    with open_rpc(tmp_path / "models", default_model="tone") as rpc:
        assert heard_opus([*Stream(rpc.channel).send(text="plain").close()]) == "plain"
