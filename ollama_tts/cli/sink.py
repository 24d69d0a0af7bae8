"""Where sound goes: a file, standard output, a player."""

import asyncio
import os
import secrets
import stat
import struct
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from ollama_tts.cli.player import Player
from ollama_tts.errors import Failed

_UNKNOWN_SIZE = 0xFFFFFFFF


class Sink(Protocol):
    """Takes the bytes of one file, in order."""

    async def write(self, data: bytes) -> None:
        """Take some bytes; comes back when there is room for more."""


class FileSink:
    """Writes to an open file, at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def write(self, data: bytes) -> None:
        """See `Sink.write`."""
        self._file.write(data)
        self._file.flush()


class PlayerSink:
    """Writes to a player's standard input."""

    def __init__(self, player: Player, process: asyncio.subprocess.Process) -> None:
        self._player = player
        self._process = process

    async def write(self, data: bytes) -> None:
        """See `Sink.write`.

        Raises:
            Failed: The player does not listen any more.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            await self._process.wait()
            raise Failed(f"the player {self._player.name} stopped early") from error


@asynccontextmanager
async def to_file(path: Path) -> AsyncGenerator[Sink]:
    """A file that appears at `path` when it is complete; where it fails nothing is left.

    A path that is something else already (a pipe, a device) is written to as it is. The sizes
    that a streamed WAV header leaves open are filled in at the end.
    """
    with whole_file(path) as file:
        yield FileSink(file)
        if file.seekable():
            fill_in_sizes(file)


@asynccontextmanager
async def to_stdout() -> AsyncGenerator[Sink]:
    """Standard output, as bytes."""
    yield FileSink(sys.stdout.buffer)


@asynccontextmanager
async def to_player(player: Player) -> AsyncGenerator[Sink]:
    """A player that has played everything when this ends; it is stopped where this fails.

    Raises:
        Failed: The player ended with a failure.
    """
    if player.whole_file:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "sound.wav")
            async with to_file(file) as sink:
                yield sink
            async with _playing(player, (*player.command, str(file))):
                pass
    else:
        async with _playing(player, player.command) as process:
            yield PlayerSink(player, process)


@asynccontextmanager
async def _playing(
    player: Player, command: tuple[str, ...]
) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    try:
        yield process
        process.stdin.close()
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if status:
        raise Failed(f"the player {player.name} ended with status {status}")


@contextmanager
def whole_file(path: Path) -> Generator[BinaryIO]:
    """An open file that is at `path` when the block has ended; where that fails nothing is left.

    What is something else already (a pipe, a device) stays that, and is written to as it is; a
    link stays a link.

    Raises:
        Failed: There is no such folder.
        OSError: It cannot be written.
    """
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with path.open("wb") as device:
            yield device
        return
    if not path.parent.is_dir():
        raise Failed(f"cannot write {path}: there is no folder {path.parent}")
    path = path.resolve()
    written = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:  # from before the file is there: a signal may come at any moment
        with written.open("x+b") as file:
            yield file
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)


def fill_in_sizes(file: BinaryIO) -> None:
    """Write the real sizes into the header of a streamed WAV file; other files stay as they are."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(12)
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE" or end - 8 >= _UNKNOWN_SIZE:
        return
    file.seek(4)
    file.write(struct.pack("<I", end - 8))
    file.seek(12)
    while len(chunk := file.read(8)) == 8:
        name, size = struct.unpack("<4sI", chunk)
        if name == b"data" and size == _UNKNOWN_SIZE:
            start = file.tell()
            file.seek(start - 4)
            file.write(struct.pack("<I", end - start))
            return
        file.seek(size + size % 2, os.SEEK_CUR)
