"""bench: how soon a model speaks and how much faster than real time, at several concurrencies."""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace

from ollama_tts.cli import units
from ollama_tts.cli.interrupt import interruptible
from ollama_tts.cli.job import Job, Speaker
from ollama_tts.cli.speaker import find_speaker, make_sure_of
from ollama_tts.client import SpeechEnd
from ollama_tts.config import Settings
from ollama_tts.errors import GenerationFailed, Unsupported

TEXT = (
    "The first sentence is short. The second one is a little longer, so that there is something "
    "to stream. The third ends it."
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One answer as its listener saw it; `first_s` and `took_s` count from the request."""

    first_s: float
    took_s: float
    audio_s: float
    steps: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What one concurrency gave. `real_time_factor` is time for a second of sound; below 1 is fast.

    `audio_s_per_s` is the sound of all listeners together a second; `steps_per_s` likewise for
    codec steps (frames of 20 ms for voices without a codec).
    """

    concurrency: int
    requests: int
    first_audio_ms_p50: float
    first_audio_ms_p95: float
    real_time_factor_p50: float
    real_time_factor_p95: float
    audio_s_per_s: float
    steps_per_s: float


@dataclass(frozen=True, slots=True)
class Run:
    """One concurrency, with the baseline's figures and how many times better the model is."""

    model: Figures
    baseline: Figures | None = None
    ratios: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was measured, and where: a server's address, or in this process."""

    model: str
    where: str
    text_chars: int
    runs: Sequence[Run]


def bench(arguments: argparse.Namespace) -> None:
    """`bench MODEL`: a warm-up, then for each concurrency so many listeners at once.

    Raises:
        Unsupported: A baseline was asked for that the model does not have.
    """
    report = interruptible(_measure(Settings.from_env(), arguments))
    if arguments.json:
        json.dump(asdict(report), sys.stdout, indent=2)
        print()
    else:
        print(_table(report), end="")


def figures(spoken: Sequence[Spoken], concurrency: int, wall_s: float) -> Figures:
    """The figures of one concurrency; `wall_s` is how long all of it took."""
    first_ms = [one.first_s * 1000 for one in spoken]
    factors = [one.took_s / one.audio_s for one in spoken]
    return Figures(
        concurrency=concurrency,
        requests=len(spoken),
        first_audio_ms_p50=round(statistics.median(first_ms), 2),
        first_audio_ms_p95=round(percentile(first_ms, 0.95), 2),
        real_time_factor_p50=round(statistics.median(factors), 4),
        real_time_factor_p95=round(percentile(factors, 0.95), 4),
        audio_s_per_s=round(sum(one.audio_s for one in spoken) / wall_s, 2),
        steps_per_s=round(sum(one.steps for one in spoken) / wall_s, 1),
    )


def ratios(model: Figures, baseline: Figures) -> dict[str, float]:
    """How many times sooner, and how many times as much a second."""
    return {
        "first_audio": round(baseline.first_audio_ms_p50 / model.first_audio_ms_p50, 2),
        "audio_s_per_s": round(model.audio_s_per_s / baseline.audio_s_per_s, 2),
        "steps_per_s": round(model.steps_per_s / baseline.steps_per_s, 2),
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, round(share * len(ordered) + 0.5) - 1))]


async def _measure(settings: Settings, arguments: argparse.Namespace) -> Report:
    text = arguments.text or TEXT
    job = Job(arguments.model, text, {**dict(arguments.option), "cache": False})
    async with find_speaker(settings) as speaker:
        await make_sure_of(speaker, job.model)
        rivals = [job]
        if arguments.baseline is not None:
            await _check_baseline(speaker, arguments.model, arguments.baseline)
            rivals.append(replace(job, options={**job.options, "backend": arguments.baseline}))
        runs = [await _compare(speaker, rivals, n, arguments) for n in arguments.concurrency]
        return Report(arguments.model, speaker.where, len(text), runs)


async def _check_baseline(speaker: Speaker, model: str, baseline: str) -> None:
    kind = await speaker.model_format(model)
    if kind != "chattts":
        raise Unsupported(
            f"model {model!r} (format {kind}) has no backend {baseline!r} to compare with; "
            "only models of format chattts have one"
        )


async def _compare(
    speaker: Speaker, rivals: Sequence[Job], concurrency: int, arguments: argparse.Namespace
) -> Run:
    """One concurrency; two rivals are measured in turns, so that both see one machine."""
    spoken: list[list[Spoken]] = [[] for _ in rivals]
    wall_s = [0.0 for _ in rivals]
    rounds = arguments.requests if len(rivals) > 1 else 1
    for _ in range(rounds):
        for index, rival in enumerate(rivals):
            await _listen(speaker, rival)
            started_s = time.perf_counter()
            spoken[index] += await _crowd(speaker, rival, concurrency, arguments.requests // rounds)
            wall_s[index] += time.perf_counter() - started_s
    model, *baseline = (figures(s, concurrency, w) for s, w in zip(spoken, wall_s, strict=True))
    if not baseline:
        return Run(model)
    return Run(model, baseline[0], ratios(model, baseline[0]))


async def _crowd(speaker: Speaker, job: Job, listeners: int, each: int) -> list[Spoken]:
    async def one() -> list[Spoken]:
        return [await _listen(speaker, job) for _ in range(each)]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one()) for _ in range(listeners)]
    return [spoken for task in tasks for spoken in task.result()]


async def _listen(speaker: Speaker, job: Job) -> Spoken:
    started_s = time.perf_counter()
    first_s = 0.0
    async with aclosing(speaker.speak(job)) as events:
        async for event in events:
            if isinstance(event, SpeechEnd):
                took_s = time.perf_counter() - started_s
                return Spoken(first_s, took_s, event.duration_s, event.eval_count)
            first_s = first_s or time.perf_counter() - started_s
    raise GenerationFailed("the answer held no sound to measure")


def _table(report: Report) -> str:
    rows = []
    for run in report.runs:
        rows.append(_row(report.model, run.model))
        if run.baseline is not None:
            rows.append(_row("baseline", run.baseline))
    head = (
        *("", "CONCURRENCY", "REQUESTS", "FIRST AUDIO P50", "P95"),
        *("RTF P50", "P95", "AUDIO S/S", "STEPS/S"),
    )
    about = f"{report.text_chars} characters, {report.where}\n"
    return about + units.table(head, rows)


def _row(name: str, found: Figures) -> tuple[str, ...]:
    return (
        name,
        str(found.concurrency),
        str(found.requests),
        f"{found.first_audio_ms_p50} ms",
        f"{found.first_audio_ms_p95} ms",
        str(found.real_time_factor_p50),
        str(found.real_time_factor_p95),
        str(found.audio_s_per_s),
        str(found.steps_per_s),
    )
