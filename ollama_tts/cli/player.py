"""Players that a system may have, and how each reads a WAV stream from its standard input."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from ollama_tts.errors import NotFound


@dataclass(frozen=True, slots=True)
class Player:
    """A program and its arguments; it plays what its standard input gives, and ends with it.

    `audio_format` is what it can read: `wav` (streamed), or `pcm` (16 bit mono at `PCM_HZ`).
    `whole_file` marks one that takes the path of a complete file instead, as its last argument.
    """

    name: str
    arguments: tuple[str, ...]
    audio_format: str = "wav"
    whole_file: bool = False

    @property
    def command(self) -> tuple[str, ...]:
        """The program with its arguments."""
        return (self.name, *self.arguments)


PCM_HZ = 24000
_RAW = ("--format", "s16", "--rate", str(PCM_HZ), "--channels", "1", "-")

PLAYERS: tuple[Player, ...] = (
    Player("ffplay", ("-nodisp", "-autoexit", "-loglevel", "error", "-i", "pipe:0")),
    Player("mpv", ("--no-video", "--really-quiet", "-")),
    Player("aplay", ("-q", "-t", "wav", "-")),
    Player("pacat", ("--playback", "--format=s16le", f"--rate={PCM_HZ}", "--channels=1"), "pcm"),
    Player("pw-cat", ("--playback", "--raw", *_RAW), "pcm"),
    Player("play", ("-q", "-t", "wav", "--ignore-length", "-")),
    Player("afplay", (), whole_file=True),
)


def find_player(which: Callable[[str], str | None] = shutil.which) -> Player:
    """The first player that this system has.

    Raises:
        NotFound: It has none; the text names those that would do.
    """
    for player in PLAYERS:
        if which(player.name) is not None:
            return player
    names = ", ".join(player.name for player in PLAYERS)
    raise NotFound(f"no player found; install one of {names}, or use -o FILE")
