"""What the audio cache saves: hits against misses, and a workload in which texts come again.

    python -m benchmarks.cache [--rounds 20] [--requests 120] [--seed 1] [--json]

One server, one run. First `hibari` says sentences anew and kept, in turn: milliseconds to the first
sound and to the last byte, and answers a second of one listener. Then a workload whose texts follow
Zipf's law, with a vocabulary chosen so that some 30 % of the requests repeat an earlier one, is
sent without the cache and with it, ten requests in turn: codec steps computed (from /metrics) and
the time it took.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from benchmarks.gauges import values
from benchmarks.served import served

TEXT = "Announcement number {}: the quick brown fox jumps over the lazy dog near the river bank."
REPEATS = 0.3
_STEPS = "ollama_tts_codec_steps_total"


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer: seconds to the first sound and to its end, and its bytes."""

    first_s: float
    whole_s: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Work:
    """A workload: seconds, and codec steps that were computed."""

    took_s: float
    steps: int


def ask(http: httpx.Client, number: int, *, cache: bool) -> Heard:
    """One sentence as raw sound."""
    options = {"seed": 1, "cache": cache, "audio_format": "pcm"}
    body = {"model": "hibari", "prompt": TEXT.format(number), "options": options}
    began_s = time.perf_counter()
    first_s = 0.0
    data = b""
    with http.stream("POST", "/api/generate", json=body, headers={"Accept": "audio/pcm"}) as answer:
        answer.raise_for_status()
        for piece in answer.iter_bytes():
            first_s = first_s or time.perf_counter() - began_s
            data += piece
    return Heard(first_s, time.perf_counter() - began_s, data)


def hits_and_misses(http: httpx.Client, rounds: int) -> dict[str, float]:
    """Medians of interleaved rounds; every kept answer is compared with the fresh one."""
    fresh, kept = [], []
    ask(http, 0, cache=False)
    for number in range(1, rounds + 1):
        ask(http, number, cache=True)
        fresh.append(ask(http, number, cache=False))
        kept.append(ask(http, number, cache=True))
        assert fresh[-1].data == kept[-1].data, "kept sound is not the fresh one"
    figures = {}
    for name in ("first_s", "whole_s"):
        new, old = (statistics.median(getattr(h, name) for h in some) for some in (fresh, kept))
        title = name.removesuffix("_s")
        figures |= {f"{title}_miss_ms": 1000 * new, f"{title}_hit_ms": 1000 * old,
                    f"{title}_ratio": new / old}  # fmt: skip
    figures["misses_per_s"] = 1000 / figures["whole_miss_ms"]
    figures["hits_per_s"] = 1000 / figures["whole_hit_ms"]
    return figures


def zipf_workload(requests: int, seed: int) -> list[int]:
    """Numbers of texts by Zipf's law; the smallest vocabulary with at most 30 % repeats."""
    size = requests
    while True:
        chance = random.Random(seed)
        weights = [1 / rank for rank in range(1, size + 1)]
        drawn = chance.choices(range(size), weights, k=requests)
        if 1 - len(set(drawn)) / requests <= REPEATS:
            return drawn
        size = size * 5 // 4 + 1


def run_workload(http: httpx.Client, numbers: list[int], first: int, *, cache: bool) -> Work:
    """The workload on texts from `first` on; its cost as the server counts it."""
    before = values(http.get("/metrics").text)
    began_s = time.perf_counter()
    for number in numbers:
        ask(http, first + number, cache=cache)
    took_s = time.perf_counter() - began_s
    told = values(http.get("/metrics").text)
    return Work(took_s, int(told[_STEPS] - before[_STEPS]))


def both_ways(http: httpx.Client, numbers: list[int]) -> tuple[Work, Work]:
    """The workload without the cache and with it, a few requests in turn."""
    blocks = [numbers[start : start + 10] for start in range(0, len(numbers), 10)]
    pairs = [
        [run_workload(http, block, 100_000, cache=cache) for cache in (False, True)]
        for block in blocks
    ]
    anew, kept = (
        Work(sum(work.took_s for work in works), sum(work.steps for work in works))
        for works in zip(*pairs, strict=True)
    )
    return anew, kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--requests", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as server,
        httpx.Client(base_url=server.url, timeout=120, trust_env=False) as http,
    ):
        pairs = hits_and_misses(http, arguments.rounds)
        numbers = zipf_workload(arguments.requests, arguments.seed)
        anew, kept = both_ways(http, numbers)
    repeated = 1 - len(set(numbers)) / len(numbers)
    figures = {
        "hit_and_miss": pairs,
        "zipf": {
            "requests": len(numbers),
            "repeated": repeated,
            "anew": asdict(anew),
            "kept": asdict(kept),
            "steps_saved": 1 - kept.steps / anew.steps,
            "time_saved": 1 - kept.took_s / anew.took_s,
        },
    }
    if arguments.json:
        print(json.dumps(figures, indent=1))
        return
    print(", ".join(f"{name} {value:.2f}" for name, value in pairs.items()))
    print(
        f"{len(numbers)} requests, {repeated:.0%} repeats: codec steps {anew.steps} anew, "
        f"{kept.steps} with the cache ({figures['zipf']['steps_saved']:.0%} saved); "
        f"{anew.took_s:.1f} s against {kept.took_s:.1f} s"
    )


if __name__ == "__main__":
    main()
