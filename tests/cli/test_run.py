import io
import os
import pty
import signal
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from ollama_tts.cli.player import PLAYERS
from tests.cli.conftest import PATIENCE_S, Cli
from tests.support.live import LiveServer
from tests.support.scripted_http import Reply, Script
from tests.support.tone_listener import listen, listen_s16

WAV_HEADER = 44


def heard(data: bytes) -> str:
    """What the voice `tone` said in a file of any format."""
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    return listen(np.asarray(samples), rate)


def heard_streamed(data: bytes) -> str:
    """What the voice `tone` said in a WAV stream, whose header does not know its length."""
    assert data[:4] == b"RIFF"
    assert data[40:44] == b"\xff\xff\xff\xff"
    return listen_s16(data[WAV_HEADER:], int.from_bytes(data[24:28], "little"))


def test_text_into_a_file(either: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    done = either("run", "tone", "Good", "morning.", "-o", str(path))
    assert (done.status, done.out, done.error) == (0, b"", "")
    with wave.open(str(path)) as read:  # refuses a header whose sizes are open
        assert read.getnframes() * 2 == path.stat().st_size - WAV_HEADER
    assert heard(path.read_bytes()) == "Good morning."


def test_the_embedded_voice_speaks_without_a_server(alone: Cli, tmp_path: Path) -> None:
    path = tmp_path / "hello.wav"
    assert alone("run", "hibari", "Hello", "-o", str(path)).status == 0
    samples, rate = soundfile.read(path)
    assert 0.2 < len(samples) / rate < 3
    assert np.abs(samples).max() > 0.05


def test_to_a_pipe_the_file_itself(either: Cli) -> None:
    done = either("run", "tone", "Raw sound.")
    assert (done.status, done.error) == (0, "")
    assert heard_streamed(done.out) == "Raw sound."


@pytest.mark.parametrize("name", ["a.flac", "a.ogg", "a.mp3"])
def test_the_name_chooses_the_format(either: Cli, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert either("run", "tone", "abc", "-o", str(path)).status == 0
    kind = {"a.flac": "FLAC", "a.ogg": "OGG", "a.mp3": "MPEG"}[name]
    assert soundfile.info(path).format in {kind, "MP3"}


def test_options_reach_the_voice(either: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    arguments = ("--format", "flac", "--option", "speed=2", "--option", "sample_rate=48000")
    assert either("run", "tone", "Quick.", "-o", str(path), *arguments).status == 0
    info = soundfile.info(path)
    assert (info.format, info.samplerate) == ("FLAC", 48000)
    assert heard(path.read_bytes()) == "Quick."


def test_verbose_prints_figures(either: Cli, tmp_path: Path) -> None:
    done = either("run", "tone", "abc", "-o", str(tmp_path / "a.wav"), "--verbose")
    names = [line.partition(":")[0] for line in done.error.splitlines()]
    assert names[:2] == ["total duration", "load duration"]
    assert {"eval count", "audio duration", "first audio", "real-time factor"} <= set(names)


def test_standard_input_is_spoken_as_it_comes(either: Cli) -> None:
    with either.start("run", "tone", "--option", "latency=low") as running:
        running.stdin.write(b"The first sentence is here. And the ")
        first = running.stdout.read(2000)  # before the second sentence is written
        out, error = running.end("second follows. Caf\u00e9!".encode())
        assert (running.process.returncode, error) == (0, "")
    said = heard_streamed(first + out)
    assert said.replace(" ", "") == "Thefirstsentenceishere.Andthesecondfollows.Caf\u00e9!"


def test_a_line_is_spoken_when_its_writer_pauses(either: Cli) -> None:
    with either.start("run", "tone") as running:
        running.stdin.write(b"Only one line\n")
        first = running.stdout.read(2000)  # comes though nothing follows and nothing ends
        out, error = running.end(b"and another\n")
        assert (running.process.returncode, error) == (0, "")
    assert heard_streamed(first + out).replace(" ", "") == "Onlyonelineandanother"


def test_lines_typed_at_a_terminal_are_spoken_one_by_one(alone: Cli) -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ollama_tts", "run", "tone"], bufsize=0,
        stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=alone.environment,
    ) as process:  # fmt: skip
        os.close(slave)
        assert process.stdout is not None
        os.write(master, b"Typed\n")
        sound = process.stdout.read(2000)
        os.write(master, b"twice\n\x04")  # Ctrl-D
        out, error = process.communicate(timeout=PATIENCE_S)
    os.close(master)
    assert process.returncode == 0
    assert error == b"Type what to say; Ctrl-D ends it.\n"
    assert heard_streamed(sound + out) == "Typedtwice"


def test_standard_input_into_a_file(either: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    text = "One sentence. " * 40
    done = either("run", "tone", "-o", str(path), stdin=text.encode())
    assert (done.status, done.error) == (0, "")
    assert heard(path.read_bytes()).replace(" ", "") == text.replace(" ", "")


def test_pauses_between_stretches_are_those_of_a_whole_text(online: Cli, tmp_path: Path) -> None:
    text = "One sentence. Another one. A third one."
    whole, parts = tmp_path / "whole.wav", tmp_path / "parts.wav"
    assert online("run", "tone", text, "-o", str(whole)).status == 0
    assert online("run", "tone", "-o", str(parts), stdin=text.encode()).status == 0
    assert abs(whole.stat().st_size - parts.stat().st_size) < 48000 * 2 * 0.05


@pytest.mark.parametrize("text", [b"", b"  \n", "\u2026".encode()])
def test_nothing_to_say_is_an_error(either: Cli, tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.wav"
    done = either("run", "hibari", "-o", str(path), stdin=text)
    assert done.status == 1
    assert done.error.startswith("Error: ")
    assert "nothing that can be spoken" in done.error
    assert not path.exists()


def test_an_unknown_model(either: Cli, tmp_path: Path) -> None:
    done = either("run", "nobody", "abc", "-o", str(tmp_path / "a.wav"))
    assert done.status == 1
    assert done.error.splitlines()[-1].startswith("Error: pull model manifest: ")
    assert "OLLAMA_TTS_REGISTRIES" in done.error
    assert list(tmp_path.iterdir()) == []


def test_a_removed_voice_comes_back(online: Cli, tmp_path: Path) -> None:
    assert online("rm", "tone").status == 0
    done = online("run", "tone", "Back.", "-o", str(tmp_path / "a.wav"))
    assert (done.status, done.error.splitlines()[-1]) == (0, "success")
    assert heard((tmp_path / "a.wav").read_bytes()) == "Back."


@pytest.mark.parametrize("option", ["voice=nobody", "language=zh"])
def test_what_the_voice_refuses_is_one_line(either: Cli, tmp_path: Path, option: str) -> None:
    arguments = ("run", "hibari", "\u4f60\u597d", "-o", str(tmp_path / "a.wav"), "--option", option)
    done = either(*arguments)
    assert done.status == 1
    assert done.error.startswith("Error: ")
    assert done.error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_server_elsewhere_is_not_replaced(alone: Cli) -> None:
    done = alone("run", "tone", "abc", OLLAMA_HOST="255.255.255.255:9")
    assert done.status == 1
    assert done.error.startswith("Error: could not connect to http://255.255.255.255:9")


def test_another_server_on_the_port_is_not_asked(alone: Cli, scripted: Script) -> None:
    other = scripted(Reply(404, b"404 page not found"))
    done = alone("run", "tone", "Myself.", OLLAMA_HOST=other.host)
    assert done.status == 0
    assert done.error.startswith("Note: what answers at http://127.0.0.1:")
    assert heard_streamed(done.out) == "Myself."
    assert [request.path for request in other.requests] == ["/healthz"]


def test_a_terminal_gets_advice_instead_of_sound(alone: Cli) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ollama_tts", "run", "tone", "abc"],
        stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, env=alone.environment,
    )  # fmt: skip
    os.close(slave)
    _, error = process.communicate(timeout=PATIENCE_S)
    os.close(master)
    assert process.returncode == 2
    assert b"-o FILE" in error
    assert b"--play" in error


def test_play_finds_a_player_and_feeds_it(either: Cli, tmp_path: Path) -> None:
    player = tmp_path / "aplay"
    player.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{COPY}" "{tmp_path}/heard" "$@"\n')
    player.chmod(0o755)
    done = either("run", "tone", "Listen.", "--play", PATH=str(tmp_path))
    assert (done.status, done.out, done.error) == (0, b"", "")
    assert heard_streamed((tmp_path / "heard").read_bytes()) == "Listen."


COPY = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, open(sys.argv[1], 'wb'))"


def test_without_a_player_the_error_names_some(alone: Cli, tmp_path: Path) -> None:
    done = alone("run", "tone", "abc", "--play", PATH=str(tmp_path))
    assert done.status == 1
    assert all(player.name in done.error for player in PLAYERS)


LONG = "A long text. " * 400


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_a_signal_ends_at_once_and_leaves_no_file(
    either: Cli, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    arguments = ("run", "tone", LONG, "-o", str(tmp_path / "a.wav"), "--option", "tone_rate=1")
    with either.start(*arguments) as running:
        while not list(tmp_path.iterdir()):  # the file opens with the first sound
            assert running.process.poll() is None
        running.process.send_signal(number)
        assert running.process.wait(PATIENCE_S) == status
        assert running.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


def test_an_ignored_signal_stays_ignored(alone: Cli, tmp_path: Path) -> None:
    arguments = ("run", "tone", "Not so long.", "--option", "tone_rate=0.5")
    ignore = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
    command = "os.execv(sys.executable, [sys.executable, '-m', 'ollama_tts', *sys.argv[1:]])"
    with subprocess.Popen(
        [sys.executable, "-c", ignore + command, *arguments],
        stdout=subprocess.PIPE, bufsize=0, env=alone.environment,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        first = process.stdout.read(2000)
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert heard_streamed(first + out) == "Not so long."


def test_ctrl_c_reaches_a_write_that_nobody_reads(either: Cli) -> None:
    with either.start("run", "tone", LONG) as running:
        running.stdout.read(WAV_HEADER)  # speaking has begun; then the pipe fills up
        assert running.interrupt() == 130


def test_ctrl_c_while_waiting_for_text(either: Cli) -> None:
    with either.start("run", "tone") as running:
        running.stdin.write(b"One sentence. Another. ")
        running.stdout.read(WAV_HEADER)
        assert running.interrupt() == 130


def test_a_reader_that_leaves_is_no_error(either: Cli) -> None:
    with either.start("run", "tone", LONG) as running:
        running.stdout.read(WAV_HEADER)
        running.stdout.close()
        assert running.process.wait(PATIENCE_S) == 128 + signal.SIGPIPE
        assert running.stderr.read() == b""


def test_leaving_frees_the_server(live: LiveServer, online: Cli) -> None:
    with online.start("run", "tone", LONG, "--option", "tone_rate=1") as running:
        running.stdout.read(WAV_HEADER)
        assert running.interrupt() == 130
    live.until(lambda node: node.scheduler.active == 0)
