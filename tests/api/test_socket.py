"""The WebSocket conversation, with the `websockets` client against a live server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from ollama_tts.config import ApiKey
from tests.support.live import LiveServer, serving, settings_for
from tests.support.tone_listener import listen_s16

Frame = dict[str, Any]


@contextmanager
def speak(server: LiveServer, **start: object) -> Iterator[ClientConnection]:
    url = server.url.replace("http://", "ws://") + "/api/speak"
    with connect(url, max_size=None, proxy=None) as socket:
        options = {"audio_format": "pcm", "pause_ms": 0} | dict(start.pop("options", {}))  # type: ignore[call-overload]
        send(socket, "start", model="tone", options=options, **start)
        yield socket


def send(socket: ClientConnection, kind: str, **fields: object) -> None:
    socket.send(json.dumps({"type": kind, **fields}))


def receive(socket: ClientConnection) -> tuple[Frame, bytes]:
    frame = json.loads(socket.recv(30))
    data = socket.recv(30) if frame["type"] == "audio" else b""
    assert isinstance(data, bytes)
    return frame, data


def turn(socket: ClientConnection, *, until: str = "done") -> tuple[list[Frame], bytes]:
    frames, sound = [], b""
    while True:
        frame, data = receive(socket)
        frames.append(frame)
        sound += data
        if frame["type"] in {until, "error"}:
            return frames, sound


def test_text_token_by_token_comes_back_as_one_turn(shared: LiveServer) -> None:
    with speak(shared, client_ts=42) as socket:
        for token in ("It ", "is ", "twelve", " o'clock. ", "Good", " night."):
            send(socket, "text", text=token)
        send(socket, "end")
        frames, sound = turn(socket)
    assert listen_s16(sound, 24_000).replace(" ", "") == "Itistwelveo'clock.Goodnight."
    kinds = [frame["type"] for frame in frames]
    assert kinds[0] == "started"
    assert kinds[-1] == "done"
    assert [frame["seq"] for frame in frames] == list(range(len(frames)))
    assert all(frame["client_ts"] == 42 for frame in frames)
    assert all(frame["utterance"] == 0 for frame in frames)
    marks = [frame for frame in frames if frame["type"] == "marks"]
    assert "".join(mark["text"] for mark in marks) == "It is twelve o'clock. Good night."
    end_s = 0.0
    for frame in frames:
        if frame["type"] == "audio":
            assert frame["start_s"] == pytest.approx(end_s, abs=1e-5)
            end_s += frame["duration_s"]
    assert frames[-1]["duration_s"] == pytest.approx(end_s, abs=1e-4)


def test_flush_speaks_at_once_and_the_turn_goes_on(shared: LiveServer) -> None:
    with speak(shared) as socket:
        send(socket, "text", text="no end")
        send(socket, "flush")
        frames, first = turn(socket, until="audio")
        assert frames[0]["type"] == "started"
        send(socket, "text", text="more")
        send(socket, "end")
        _, rest = turn(socket)
    assert listen_s16(first + rest, 24_000).replace(" ", "") == "noendmore"


def test_cancel_lets_nothing_of_the_turn_follow_and_the_next_starts_clean(
    shared: LiveServer,
) -> None:
    with speak(shared, options={"tone_rate": 1.0}) as socket:
        send(socket, "text", text="this is never heard to its end, it is far too long. ")
        send(socket, "flush")
        turn(socket, until="audio")
        send(socket, "cancel")
        frames, _ = turn(socket, until="cancelled")
        assert frames[-1]["utterance"] == 0
        send(socket, "text", text="next")
        send(socket, "end")
        frames, sound = turn(socket)
    assert {frame["utterance"] for frame in frames} == {1}
    assert frames[0]["type"] == "started"
    assert listen_s16(sound, 24_000) == "next"
    shared.until(lambda node: node.scheduler.active == 0)


def test_turns_follow_each_other_and_options_may_change_between_them(
    shared: LiveServer,
) -> None:
    with speak(shared) as socket:
        send(socket, "text", text="one")
        send(socket, "end")
        turn(socket)
        send(socket, "start", model="tone", options={"audio_format": "wav", "sample_rate": 48000})
        send(socket, "text", text="two")
        send(socket, "end")
        frames, sound = turn(socket)
    assert frames[0]["sample_rate"] == 48_000
    assert sound[:4] == b"RIFF"
    assert listen_s16(sound[44:], 48_000) == "two"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("{", "not understood"),
        ('{"type": "sing"}', "sing"),
        ('{"type": "text"}', "text"),
        ('{"type": "text", "text": 5}', "Expected `str`"),
        ('{"type": "start", "model": "nobody"}', "model 'nobody' not found"),
        ('{"type": "start", "keep_alive": "abc"}', "invalid duration"),
        ('{"type": "start", "client_ts": "' + "x" * 900_000 + '"}', "length"),
        ('{"type": "start", "options": ' + '{"a":' * 20_000 + "1" + "}" * 20_001, "depth"),
    ],
)
def test_a_bad_frame_is_answered_and_changes_nothing(
    shared: LiveServer, frame: str, reason: str
) -> None:
    with speak(shared) as socket:
        socket.send(frame)
        answer, _ = receive(socket)
        assert answer["type"] == "error"
        assert reason in answer["error"]
        send(socket, "text", text="fine")
        send(socket, "end")
        _, sound = turn(socket)
    assert listen_s16(sound, 24_000) == "fine"


def test_half_an_emoji_is_no_reason_to_lose_the_text(shared: LiveServer) -> None:
    with speak(shared) as socket:
        socket.send('{"type": "text", "text": "so\\ud83d"}')
        socket.send('{"type": "text", "text": "\\ude00 it is"}')
        send(socket, "end")
        frames, sound = turn(socket)
    assert frames[-1]["type"] == "done"
    assert listen_s16(sound, 24_000).startswith("so")


def test_an_endless_number_fails_its_turn_alone(shared: LiveServer) -> None:
    with speak(shared, options={"seed": 10**400}) as socket:
        send(socket, "text", text="x.")
        send(socket, "end")
        frames, _ = turn(socket)
        assert "'seed'" in frames[-1]["error"]


def test_a_cancel_behind_much_text_is_heard_at_once(shared: LiveServer) -> None:
    with speak(shared, options={"tone_rate": 1.0}) as socket:
        for _ in range(3000):
            send(socket, "text", text="words and words. ")
        send(socket, "cancel")
        frames, _ = turn(socket, until="cancelled")
    assert frames[-1]["type"] == "cancelled"
    shared.until(lambda node: node.scheduler.active == 0)


def test_binary_frames_are_refused_politely(shared: LiveServer) -> None:
    with speak(shared) as socket:
        socket.send(b"\x00\x01")
        assert receive(socket)[0]["type"] == "error"


def test_a_bad_option_fails_its_turn_alone(shared: LiveServer) -> None:
    with speak(shared, options={"speed": 9}) as socket:
        send(socket, "text", text="x.")
        send(socket, "end")
        frames, _ = turn(socket)
        assert "'speed'" in frames[-1]["error"]
        send(socket, "start", model="tone", options={"audio_format": "pcm"})
        send(socket, "text", text="y")
        send(socket, "end")
        _, sound = turn(socket)
    assert listen_s16(sound, 24_000) == "y"


def test_a_frame_over_the_limit_closes_with_1009(shared: LiveServer) -> None:
    with speak(shared) as socket:
        with suppress(ConnectionClosed):
            send(socket, "text", text="x" * (2 * 1024 * 1024))
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


def test_leaving_frees_the_work(shared: LiveServer) -> None:
    with speak(shared, options={"tone_rate": 1.0}) as socket:
        send(socket, "text", text="a long text at its own pace. " * 20)
        turn(socket, until="audio")
    shared.until(lambda node: node.scheduler.active == 0)


def test_a_foreign_page_gets_no_socket_and_reads_which_setting_allows_it(
    shared: LiveServer,
) -> None:
    url = shared.url.replace("http://", "ws://") + "/api/speak"
    with pytest.raises(InvalidStatus) as refused:
        connect(url, origin=Origin("https://evil.example"), proxy=None)
    assert refused.value.response.status_code == 403
    assert b"OLLAMA_ORIGINS" in refused.value.response.body


def test_a_socket_without_the_key_is_401(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(replace(settings_for(tmp_path / "models"), api_keys=(ApiKey.of("k"),))) as server:
        url = server.url.replace("http://", "ws://") + "/api/speak"
        with pytest.raises(InvalidStatus) as refused:
            connect(url, proxy=None)
        assert refused.value.response.status_code == 401
        with connect(url, proxy=None, additional_headers={"Authorization": "Bearer k"}) as socket:
            send(socket, "start", model="tone")
    assert not [line for line in caplog.records if line.levelname == "ERROR"]
