"""run: a text, or what comes on standard input, spoken into a file, a pipe or a player."""

import argparse
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from pathlib import Path

from ollama_tts.cli import typed
from ollama_tts.cli.interrupt import interruptible
from ollama_tts.cli.job import Job
from ollama_tts.cli.player import PCM_HZ, Player, find_player
from ollama_tts.cli.sink import Sink, to_file, to_player, to_stdout
from ollama_tts.cli.speaker import find_speaker, make_sure_of
from ollama_tts.client import SpeechEnd
from ollama_tts.config import Settings
from ollama_tts.errors import InvalidOption, UnspeakableText
from ollama_tts.options import resolve

_FORMATS = {".wav": "wav", ".pcm": "pcm", ".raw": "pcm", ".mp3": "mp3", ".flac": "flac",
            ".opus": "opus", ".ogg": "opus", ".aac": "aac"}  # fmt: skip
_NOWHERE = (
    "the sound needs somewhere to go: -o FILE writes a file, --play plays it, "
    "and a pipe (| …) gets the file as it is spoken"
)


@dataclass(frozen=True, slots=True)
class _Output:
    """Where the sound goes, and what that makes of the options.

    `whole`: nobody hears it before its end.
    """

    sink: AbstractAsyncContextManager[Sink]
    options: dict[str, object]
    whole: bool = False


def run(arguments: argparse.Namespace) -> int:
    """`run MODEL [TEXT]`; gives the exit status."""
    output = _output(arguments)
    if output is None:
        print(f"usage: {_NOWHERE}", file=sys.stderr)
        return 2
    text = _text(arguments.text)
    options = sound_options(arguments) | output.options
    job = Job(arguments.model, text, options, arguments.keepalive, output.whole)
    end = interruptible(_speak(job, output.sink))
    if arguments.verbose:
        print("\n".join(figures(end)), file=sys.stderr)
    return 0


def sound_options(arguments: argparse.Namespace) -> dict[str, object]:
    """The options that `--option`, `--voice` and `--format` set."""
    options: dict[str, object] = dict(arguments.option)
    if arguments.voice is not None:
        options["voice"] = arguments.voice
    if arguments.format is not None:
        options["audio_format"] = arguments.format
    return options


def compressed(options: Mapping[str, object]) -> bool:
    """Whether the sound's format is better written in one piece.

    Headers of compressed files hold figures that only the end knows; WAV's are filled in later.
    """
    return resolve(options).speech.audio_format not in {"wav", "pcm"}


def figures(end: SpeechEnd) -> list[str]:
    """The figures of an answer, as `ollama run --verbose` prints them, and those of sound."""
    took_s, codec_s = end.total_ns / 1e9, end.eval_ns / 1e9
    rows = [
        ("total duration", f"{took_s:.3f} s"),
        ("load duration", f"{end.load_ns / 1e6:.3f} ms"),
        ("prompt eval count", f"{end.prompt_eval_count} token(s)"),
        ("eval count", f"{end.eval_count} step(s)"),
        ("eval duration", f"{codec_s:.3f} s"),
        ("eval rate", f"{end.eval_count / codec_s if codec_s else 0:.2f} steps/s"),
        ("audio duration", f"{end.duration_s:.3f} s"),
        ("first audio", f"{end.first_audio_ms:.1f} ms"),
        ("real-time factor", f"{took_s / end.duration_s if end.duration_s else 0:.3f}"),
        ("voice", end.voice),
    ]
    return [f"{name + ':':21}{value}" for name, value in rows]


async def _speak(job: Job, output: AbstractAsyncContextManager[Sink]) -> SpeechEnd:
    """Speak into the sink; the sink is opened when the first sound is there."""
    async with find_speaker(Settings.from_env()) as speaker:
        await make_sure_of(speaker, job.model)
        async with aclosing(speaker.speak(job)) as events:
            first = await anext(events)
            async with output as sink:
                event = first
                while not isinstance(event, SpeechEnd):
                    if event.data:
                        await sink.write(event.data)
                    event = await anext(events)
        return event


def _text(words: list[str]) -> str | AsyncIterator[str]:
    if words and words != ["-"]:
        text = " ".join(words)
        if not text.strip():
            raise UnspeakableText("the text is empty: there is nothing to speak")
        return text
    if sys.stdin.isatty():
        print("Type what to say; Ctrl-D ends it.", file=sys.stderr)
    return typed.parts(sys.stdin.fileno())


def _output(arguments: argparse.Namespace) -> _Output | None:
    if arguments.play:
        player = find_player()
        return _Output(to_player(player), _playable(player))
    if arguments.output not in {None, "-"}:
        path = Path(arguments.output)
        options = _format_of(path, arguments)
        return _Output(to_file(path), options, compressed(sound_options(arguments) | options))
    if arguments.output is None and sys.stdout.isatty():
        return None
    return _Output(to_stdout(), {})


def _playable(player: Player) -> dict[str, object]:
    rate = {"sample_rate": PCM_HZ} if player.audio_format == "pcm" else {}
    return {"audio_format": player.audio_format, **rate}


def _format_of(path: Path, arguments: argparse.Namespace) -> dict[str, object]:
    """The format that the file's name asks for, where no argument does."""
    chosen = {"format", "audio_format"} & {name for name, _ in arguments.option}
    if arguments.format is not None or chosen:
        return {}
    ending = path.suffix.lower()
    if ending and ending not in _FORMATS and not path.exists():
        raise InvalidOption(
            f"{path.name}: the ending says no format; known are {' '.join(_FORMATS)} "
            "(or name one: --format wav)"
        )
    return {"audio_format": _FORMATS[ending]} if ending in _FORMATS else {}
