import io
import os
import struct
import sys
import threading
import wave
from pathlib import Path

import numpy as np
import pytest

from ollama_tts.audio.encode import make_encoder
from ollama_tts.cli.player import Player
from ollama_tts.cli.sink import fill_in_sizes, to_file, to_player
from ollama_tts.errors import Failed

SAMPLES = np.linspace(-1, 1, 4800, dtype=np.float32)


def streamed_wav() -> bytes:
    encoder = make_encoder("wav", 24000)
    return encoder.feed(SAMPLES) + encoder.finish()


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_file_appears_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    async with to_file(path) as sink:
        await sink.write(streamed_wav()[:100])
        assert not path.exists()
        await sink.write(streamed_wav()[100:])
    with wave.open(str(path)) as read:
        assert read.getnframes() == len(SAMPLES)
    assert files(tmp_path) == [path]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


async def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"before")

    async def fail() -> None:
        async with to_file(path) as sink:
            await sink.write(b"half")
            raise Failed("no more")

    with pytest.raises(Failed):
        await fail()
    assert path.read_bytes() == b"before"
    assert files(tmp_path) == [path]


async def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    async with to_file(path) as sink:
        await sink.write(b"as it is")
    reader.join()
    assert read == [b"as it is"]


def test_the_sizes_of_a_streamed_header_are_filled_in() -> None:
    file = io.BytesIO(streamed_wav())
    fill_in_sizes(file)
    whole = make_encoder("wav", 24000, whole=True)
    whole.feed(SAMPLES)
    assert file.getvalue() == whole.finish()


@pytest.mark.parametrize(
    "data",
    [b"", b"RIFF", b"ID3 not a wav file", b"RIFF\x00\x00\x00\x00AVI LIST",
     b"RIFF\x1c\x00\x00\x00WAVEfmt \x10\x00\x00\x00" + bytes(12)],
)  # fmt: skip
def test_other_files_are_left_alone(data: bytes) -> None:
    file = io.BytesIO(data)
    fill_in_sizes(file)
    assert file.getvalue()[8:] == data[8:]


def test_chunks_before_the_samples_are_passed_over() -> None:
    data = streamed_wav()
    extra = b"LIST" + struct.pack("<I", 3) + b"abc\x00"
    file = io.BytesIO(data[:36] + extra + data[36:])
    fill_in_sizes(file)
    file.seek(0)
    with wave.open(file) as read:
        assert read.getnframes() == len(SAMPLES)


def python(code: str, *arguments: str) -> Player:
    """A player that is a Python program."""
    return Player(sys.executable, ("-c", code, *arguments))


async def test_a_player_gets_everything_and_is_waited_for(tmp_path: Path) -> None:
    out = tmp_path / "heard"
    code = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    async with to_player(python(code, str(out))) as sink:
        for _ in range(50):
            await sink.write(b"x" * 10_000)
    assert out.read_bytes() == b"x" * 500_000


async def test_a_player_that_fails_is_a_failure() -> None:
    with pytest.raises(Failed, match="ended with status 3"):
        async with to_player(python("import sys; sys.stdin.read(); sys.exit(3)")):
            pass


async def test_a_player_that_stops_listening_is_a_failure() -> None:
    async def play() -> None:
        async with to_player(python("raise SystemExit(0)")) as sink:
            while True:
                await sink.write(b"x" * 100_000)

    with pytest.raises(Failed, match="stopped early"):
        await play()


async def test_a_player_is_stopped_where_the_speech_fails(tmp_path: Path) -> None:
    code = "import sys; sys.stdin.read(); open(sys.argv[1], 'w').close()"

    async def fail() -> None:
        async with to_player(python(code, str(tmp_path / "ended"))) as sink:
            await sink.write(b"x")
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert not (tmp_path / "ended").exists()


async def test_a_player_of_files_gets_a_whole_file(tmp_path: Path) -> None:
    code = "import shutil, sys; shutil.copy(sys.argv[2], sys.argv[1])"
    player = Player(sys.executable, ("-c", code, str(tmp_path / "heard.wav")), whole_file=True)
    async with to_player(player) as sink:
        await sink.write(streamed_wav())
    with wave.open(str(tmp_path / "heard.wav")) as read:
        assert read.getnframes() == len(SAMPLES)
