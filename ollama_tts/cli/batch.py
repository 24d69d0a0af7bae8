"""batch: each line of a file spoken into a numbered file of its own."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from ollama_tts.cli.interrupt import interruptible
from ollama_tts.cli.job import Job, Speaker
from ollama_tts.cli.progress import ProgressLines
from ollama_tts.cli.run import compressed, sound_options
from ollama_tts.cli.sink import to_file
from ollama_tts.cli.speaker import find_speaker, make_sure_of
from ollama_tts.client import SpeechChunk
from ollama_tts.config import Settings
from ollama_tts.errors import Failed, OllamaTTSError
from ollama_tts.options import resolve
from ollama_tts.protocol.ollama import ProgressResponse

RETRY_LIST = "failed.txt"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line to speak, the file it goes to, and its number in the text, from 1."""

    number: int
    text: str
    path: Path


@dataclass(frozen=True, slots=True)
class _Failure:
    line: _Line
    error: OllamaTTSError


def batch(arguments: argparse.Namespace) -> None:
    """`batch FILE -o DIR`.

    Lines that are there already are left as they are, so the same command tries again what
    failed. The texts that failed stand in DIR/failed.txt, one a line.

    Raises:
        Failed: Lines failed; each has been named on stderr.
    """
    settings = Settings.from_env()
    options = sound_options(arguments)
    suffix = str(resolve(options).speech.audio_format)
    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    lines = _lines(read_text(arguments.file), folder, suffix)
    model = arguments.model or settings.default_model or "hibari"
    failures = interruptible(
        _speak_all(
            settings,
            Job(model, "", options, whole=compressed(options)),
            lines,
            arguments.concurrency,
        )
    )
    _report(folder, failures, len(lines))


def read_text(name: str) -> str:
    """A file's text, or that of standard input (`-`)."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return data.decode("utf-8-sig", errors="replace")


def _lines(text: str, folder: Path, suffix: str) -> list[_Line]:
    """The lines that hold text; their numbers count the others too."""
    written = text.splitlines()
    width = max(3, len(str(len(written))))
    return [
        _Line(number, line.strip(), folder / f"{number:0{width}d}.{suffix}")
        for number, line in enumerate(written, 1)
        if line.strip()
    ]


async def _speak_all(
    settings: Settings, job: Job, lines: Sequence[_Line], concurrency: int
) -> list[_Failure]:
    """The failures, in the order of the lines."""
    missing = [line for line in lines if not line.path.exists()]
    with ProgressLines(sys.stderr, counted=True) as progress:
        async with find_speaker(settings) as speaker:
            await make_sure_of(speaker, job.model)
            work = _Work(speaker, job, missing, _Meter(progress, len(lines), len(missing)))
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(work.run())
    return sorted(work.failures, key=lambda failure: failure.line.number)


class _Meter:
    """Shows how many lines are done."""

    def __init__(self, progress: ProgressLines, total: int, missing: int) -> None:
        self._progress = progress
        self._total = total
        self._done = total - missing
        self.advance(0)

    def advance(self, lines: int = 1) -> None:
        """So many more are done."""
        self._done += lines
        self._progress(
            ProgressResponse(
                status="speaking", digest="speaking", total=self._total, completed=self._done
            )
        )


class _Work:
    """The lines that wait; as many `run` as are to be under way at once."""

    def __init__(self, speaker: Speaker, job: Job, lines: Sequence[_Line], meter: _Meter) -> None:
        self.failures: list[_Failure] = []
        self._speaker = speaker
        self._job = job
        self._waiting = iter(lines)
        self._meter = meter

    async def run(self) -> None:
        """Speak one line after the other until none waits any more."""
        for line in self._waiting:
            try:
                await _speak_one(self._speaker, replace(self._job, text=line.text), line.path)
            except OllamaTTSError as error:
                self.failures.append(_Failure(line, error))
            self._meter.advance()


async def _speak_one(speaker: Speaker, job: Job, path: Path) -> None:
    async with to_file(path) as sink, aclosing(speaker.speak(job)) as events:
        async for event in events:
            if isinstance(event, SpeechChunk):
                await sink.write(event.data)


def _report(folder: Path, failures: Sequence[_Failure], total: int) -> None:
    retry = folder / RETRY_LIST
    if not failures:
        retry.unlink(missing_ok=True)
        return
    for failure in failures:
        print(f"line {failure.line.number}: {failure.error}", file=sys.stderr)
    retry.write_text("".join(f"{failure.line.text}\n" for failure in failures), encoding="utf-8")
    raise Failed(
        f"{len(failures)} of {total} lines failed; {retry} lists them, "
        "the same command tries them again"
    )
