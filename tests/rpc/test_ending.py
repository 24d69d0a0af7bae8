"""How streams end: statuses, deadlines, callers who leave, keys, draining."""

import socket
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status

from ollama_tts import errors
from ollama_tts.config import Address, ApiKey
from ollama_tts.protocol.pb.tts_pb2 import CANCEL, END, FLUSH
from ollama_tts.server.rpc import door
from ollama_tts.server.rpc.errors import STATUS, code_of, status_of
from tests.rpc.conftest import open_rpc
from tests.support.certificates import make_certificate
from tests.support.rpc import Rpc, Stream, heard

ENDLESS = "This is said so slowly that nobody ever hears its end. " * 50
SLOWLY = {"tone_rate": "1.0"}


@pytest.mark.parametrize(
    ("request_fields", "code", "reason"),
    [
        ({"model": "nobody"}, "NOT_FOUND", "model 'nobody' not found"),
        ({"model": "a b"}, "INVALID_ARGUMENT", "invalid model name"),
        ({"options": {"speed": "9"}}, "INVALID_ARGUMENT", "a number from 0.5 to 2, not 9"),
        ({"options": {"seed": "x"}}, "INVALID_ARGUMENT", "'seed' must be an integer"),
        ({"options": {"audio_format": "mp3"}}, "INVALID_ARGUMENT", "one of opus, pcm over gRPC"),
        ({"keep_alive": "abc"}, "INVALID_ARGUMENT", "invalid duration"),
        ({"control": END}, "INVALID_ARGUMENT", "without any text"),
        ({"text": "…"}, "INVALID_ARGUMENT", "nothing that can be spoken"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(
    own_rpc: Rpc, request_fields: dict[str, object], code: str, reason: str
) -> None:
    stream = Stream(own_rpc.channel).send(**{"model": "tone", **request_fields}).close()
    assert stream.code().name == code
    assert reason in stream.call.details()
    assert own_rpc.live.metric("grpc_stream_errors_total") == 1


def test_a_turn_at_fault_is_told_and_the_next_one_is_spoken(own_rpc: Rpc) -> None:
    stream = own_rpc.stream(text="…", control=END)
    [failed] = stream.turn()
    assert failed.error.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert "nothing that can be spoken" in failed.error.message
    assert failed.error.retry_after_s == 0
    stream.send(text="fine", control=END)
    assert heard(stream.turn()) == "fine"
    assert stream.close().code() is grpc.StatusCode.OK
    assert own_rpc.live.metric("grpc_stream_errors_total") == 0


def test_a_refusal_right_behind_a_turns_end_is_told_at_once(own_rpc: Rpc) -> None:
    """The status must not overtake the response that is on its way."""
    for _ in range(20):
        stream = own_rpc.stream(text="…", control=END).send().send(model="nobody", text="x")
        assert stream.close().code() is grpc.StatusCode.NOT_FOUND


def test_what_is_no_message_is_refused(own_rpc: Rpc) -> None:
    name = "/ollama_tts.v1.Tts/Synthesize"
    method: grpc.StreamStreamMultiCallable[bytes, bytes] = own_rpc.channel.stream_stream(name)
    call = method(iter([b"\xff\xff\x01abc"]), timeout=60)
    with pytest.raises(grpc.RpcError):
        next(call)
    assert call.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "TtsRequest" in call.details()


def test_a_full_queue_is_resource_exhausted_and_says_when_to_come_again(tmp_path: Path) -> None:
    with open_rpc(tmp_path / "models", max_queue=1, num_parallel=1) as rpc:
        first = rpc.stream(SLOWLY, text=ENDLESS, control=FLUSH)
        first.next()
        second = rpc.stream(SLOWLY, text=ENDLESS, control=FLUSH)
        rpc.live.until(lambda node: node.scheduler.queue_depth == 1)
        third = rpc.stream(text="no place", control=END)
        [refused] = third.turn()
        assert refused.error.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        assert refused.error.retry_after_s >= 1
        assert third.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        status = rpc_status.from_call(third.call)
        assert status is not None
        retry = RetryInfo()
        assert status.details[0].Unpack(retry)
        assert retry.retry_delay.seconds == refused.error.retry_after_s
        assert rpc.live.metric("grpc_stream_errors_total") == 1
        outcome = {"surface": "grpc", "outcome": "rejected"}
        assert rpc.live.metric("ollama_tts_requests_total", **outcome) == 1
        first.call.cancel()
        second.call.cancel()
        rpc.live.until(lambda node: node.scheduler.active == node.scheduler.queue_depth == 0)


def test_every_error_has_a_status_and_busy_and_memory_a_retry() -> None:
    for kind in STATUS:
        error = kind.__new__(kind)
        assert code_of(error) is not grpc.StatusCode.OK
    busy = status_of(errors.Busy("later", 7))
    memory = status_of(errors.OutOfMemory("none left"))
    assert busy.code is memory.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    for status in (busy, memory):
        assert [key for key, _ in status.trailing_metadata or ()] == ["grpc-status-details-bin"]
    assert code_of(errors.LoadFailed("x")) is grpc.StatusCode.INTERNAL
    assert code_of(errors.EngineDead("x")) is grpc.StatusCode.UNAVAILABLE
    assert code_of(ZeroDivisionError()) is grpc.StatusCode.INTERNAL
    assert status_of(ZeroDivisionError("a secret")).details == "internal error"


def test_without_a_deadline_there_is_none(own_rpc: Rpc) -> None:
    stream = Stream(own_rpc.channel, timeout=None)
    stream.send(model="tone", options={"audio_format": "pcm"}, text="no hurry").close()
    assert heard([*stream]).replace(" ", "") == "nohurry"
    stream = Stream(own_rpc.channel, timeout=None)
    stream.send(model="tone", options=SLOWLY, text=ENDLESS, control=FLUSH).next()
    stream.call.cancel()
    own_rpc.live.until(lambda node: node.scheduler.active == 0)
    assert own_rpc.errors() == 0


def test_a_deadline_ends_stream_and_work(own_rpc: Rpc) -> None:
    stream = Stream(own_rpc.channel, timeout=1.0)
    options = {"audio_format": "pcm", **SLOWLY}
    stream.send(model="tone", options=options, text=ENDLESS, control=FLUSH)
    assert stream.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    own_rpc.live.until(lambda node: node.scheduler.active == 0)
    own_rpc.live.until(lambda _: own_rpc.errors() == 1)


def test_a_turns_own_deadline_ends_the_stream_by_name(own_rpc: Rpc) -> None:
    stream = own_rpc.stream({"deadline_ms": "300", **SLOWLY}, text=ENDLESS).close()
    assert stream.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "deadline_ms" in stream.call.details()


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("flush", [True, False])
def test_whoever_cancels_the_call_frees_the_work(own_rpc: Rpc, after: int, *, flush: bool) -> None:
    streams = [
        own_rpc.stream(SLOWLY, text=ENDLESS, control=FLUSH if flush else END) for _ in range(4)
    ]
    for stream in streams:
        for _ in range(after):
            stream.next()
    for stream in streams:
        stream.call.cancel()
    own_rpc.live.until(lambda node: node.scheduler.active == node.scheduler.queue_depth == 0)
    last = own_rpc.stream(text="free").close()
    assert heard([*last]) == "free"
    assert own_rpc.live.metric("grpc_stream_errors_total") == 0


def test_a_connection_that_breaks_frees_the_work(own_rpc: Rpc) -> None:
    port = own_rpc.doors.open["grpc"].address.port
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    stream = Stream(channel).send(model="tone", options=SLOWLY, text=ENDLESS, control=FLUSH)
    stream.next()
    channel.close()
    own_rpc.live.until(lambda node: node.scheduler.active == 0)


def test_what_is_not_read_is_not_made_and_not_lost(own_rpc: Rpc) -> None:
    text = "What a slow reader has not taken yet is not made yet either. " * 120
    slow = own_rpc.stream({"sample_rate": "48000"}, text=text).close()
    first = slow.next()
    quick = own_rpc.stream({"sample_rate": "48000"}, text=text).close()
    assert heard([*quick]).replace(" ", "") == text.replace(" ", "")
    done = {"surface": "grpc", "outcome": "ok"}
    assert own_rpc.live.metric("ollama_tts_requests_total", **done) == 1
    assert own_rpc.live.read(lambda node: node.scheduler.active) == 1
    assert heard([first, *slow]).replace(" ", "") == text.replace(" ", "")
    assert own_rpc.live.metric("ollama_tts_requests_total", **done) == 2


def test_a_key_is_needed_where_one_is_set(tmp_path: Path) -> None:
    with open_rpc(tmp_path / "models", api_keys=tuple(map(ApiKey.of, ("one", "two")))) as rpc:
        for metadata in ((), (("authorization", "Bearer three"),)):
            stream = Stream(rpc.channel, metadata=metadata).send(model="tone", text="x").close()
            assert stream.code() is grpc.StatusCode.UNAUTHENTICATED
            assert "OLLAMA_TTS_API_KEY" in stream.call.details()
        metadata = (("authorization", "Bearer two"),)
        options = {"audio_format": "pcm"}
        stream = Stream(rpc.channel, metadata=metadata)
        assert heard([*stream.send(model="tone", options=options, text="in").close()]) == "in"


def test_a_request_over_its_limit_is_refused(own_rpc: Rpc) -> None:
    stream = own_rpc.stream(text="x" * (1024 * 1024 + 1))
    assert stream.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_draining_lets_turns_end_and_takes_no_stream(own_rpc: Rpc) -> None:
    running = own_rpc.stream(SLOWLY, text="Said to its end.", control=FLUSH)
    idle = own_rpc.stream(text="over", control=END)
    assert heard(idle.turn()) == "over"
    first = running.next()
    own_rpc.live.run(own_rpc.drain)
    responses = [first, *running.turn()]
    assert heard(responses).replace(" ", "") == "Saidtoitsend."
    assert responses[-1].done_reason == "stop"
    for stream in (running, idle, own_rpc.stream(text="too late")):
        assert stream.code() is grpc.StatusCode.UNAVAILABLE
        assert "shutting down" in stream.call.details()


def test_an_address_in_use_is_named(own_rpc: Rpc) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(errors.Failed, match=f"127.0.0.1:{address.port}.*GRPC_HOST"):
            own_rpc.live.run(lambda: door.open_rpc(own_rpc.live.node, address))


def test_cancel_between_two_responses_of_one_turn_ends_it_once(own_rpc: Rpc) -> None:
    stream = own_rpc.stream()
    for turn in range(30):
        stream.send(text="short", control=END).send(control=CANCEL)
        stream.send(text="y", control=END)
        ends = [stream.turn()[-1], stream.turn()[-1]]
        assert [end.turn for end in ends] == [2 * turn, 2 * turn + 1]
        assert ends[1].done_reason == "stop"
    assert [*stream.close()] == []


def test_a_rate_counts_the_turns_of_each_key(tmp_path: Path) -> None:
    keys = tuple(map(ApiKey.of, ("one", "two")))
    with open_rpc(tmp_path / "models", api_keys=keys, rate_limit=1) as rpc:
        for key, code in (("one", "OK"), ("one", "RESOURCE_EXHAUSTED"), ("two", "OK")):
            metadata = (("authorization", f"Bearer {key}"),)
            stream = Stream(rpc.channel, metadata=metadata).send(model="tone", text="x").close()
            assert stream.code().name == code
        refused = {"surface": "grpc", "outcome": "rejected"}
        assert rpc.live.metric("ollama_tts_requests_total", **refused) == 1


def test_with_a_certificate_the_door_speaks_tls(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    with open_rpc(tmp_path / "models", tls=files) as rpc:
        place = f"127.0.0.1:{rpc.doors.open['grpc'].address.port}"
        trusted = grpc.ssl_channel_credentials(files.chain.read_bytes())
        with grpc.secure_channel(place, trusted) as channel:
            stream = Stream(channel).send(model="tone", options={"audio_format": "pcm"}, text="in")
            assert heard([*stream.close()]) == "in"
        plain = Stream(rpc.channel, timeout=5).send(model="tone", text="x").close()
        assert plain.code() is grpc.StatusCode.UNAVAILABLE
