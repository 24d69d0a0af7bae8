"""How fast the ChatTTS engine is, against the upstream package, interleaved in one process.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/engine.py [--only decode,floor,precision,stream,many]
        [--checkpoint DIR] [--threads 2] [--segments 8] [--json]

Without `--checkpoint` a synthetic one of the official sizes is written first: random weights, so
speed and numerical error can be measured, and nothing about speech.

decode     ms a step and tokens/s at batch 1, 4, 8, 16: both sides make the same number of tokens
           of the same lengths, segment by segment in turn; medians, and the median of the ratios
floor      bytes of weights that a step reads, the memory's read bandwidth in this run, and how
           near the step at batch 1 comes
precision  Kullback-Leibler divergence at temperature 1 against fp32 along a forced path
stream     first audio and real-time factor of one stream of 10 s
many       8 streams at once: first audio, real-time factor, underruns
"""

import sys

# A neighbour of this file is called http.py and must not stand in for the standard library's.
sys.path[:] = [path for path in sys.path if not path.endswith("benchmarks")]

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from ollama_tts.backends.chattts.native.step import Mode, NativeShape
from ollama_tts.backends.chattts.native_model import NativeStepModel
from ollama_tts.backends.chattts.reference import Chat, load_chat, quiet
from ollama_tts.backends.chattts.weights import Checkpoint, directory
from ollama_tts.engine.loop import Engine
from ollama_tts.engine.step_model import Job, Prefill, Prompt, Sampling
from ollama_tts.engine.utterance import Utterance
from ollama_tts.options import SpeechOptions
from tests.support.checkpoints import FULL, write

PROMPT = 30
SEGMENT = 32
TEN_SECONDS = 469
RATE_HZ = 24_000
Row = dict[str, object]


def native(checkpoint: Checkpoint, mode: Mode, threads: int) -> NativeStepModel:
    gpt = checkpoint.config.gpt
    shape = NativeShape(
        hidden=gpt.hidden_size, layers=gpt.num_hidden_layers, heads=gpt.num_attention_heads,
        inner=gpt.intermediate_size, texts=gpt.num_text_tokens, text_end=0,
        positions=1024, threads=threads, mode=mode,
    )  # fmt: skip
    return NativeStepModel(checkpoint, shape)


def prompt(seed: int, hidden: int, codes: NDArray[np.int32] | None = None) -> Prompt:
    """A random prompt of text ids, the same for both sides; `codes` [n, 4] may follow it."""
    words = np.random.default_rng(seed).integers(200, 20_000, (PROMPT, 1)).astype(np.int32)
    ids = np.repeat(words, 4, 1)
    if codes is not None:
        ids = np.concatenate([ids, codes])
    nothing = np.zeros((0, hidden), np.float32)
    return Prompt(ids, np.arange(len(ids)) < PROMPT, nothing, np.zeros(0, np.int32))


def endless(seed: int, hidden: int, tokens: int) -> Job:
    """A job of exactly `tokens` tokens."""
    return Job(prompt(seed, hidden), Sampling(), seed, tokens, min_tokens=tokens)


# decode


def upstream_segments(chat: Chat, batch: int, tokens: int, hidden: int) -> Iterator[object]:
    """Upstream's generator, which yields after every segment."""
    from ChatTTS.model import gen_logits

    ids = torch.stack([torch.from_numpy(prompt(b, hidden).ids).long() for b in range(batch)])
    is_text = torch.ones(batch, PROMPT, dtype=torch.bool)
    warpers, processors = gen_logits(num_code=625, top_P=0.7, top_K=20, repetition_penalty=1.05)
    found: Iterator[object] = chat.gpt.generate(
        chat.embed(ids, is_text), ids, temperature=torch.full((4,), 0.3), eos_token=625,
        attention_mask=torch.ones(batch, PROMPT, dtype=torch.bool), max_new_token=tokens,
        min_new_token=tokens, logits_processors=(*processors, *warpers), return_hidden=True,
        stream=True, show_tqdm=False, ensure_non_empty=False, stream_batch=SEGMENT,
    )  # fmt: skip
    return found


def our_segments(model: NativeStepModel, batch: int, tokens: int, hidden: int) -> Iterator[object]:
    """Ours, a segment at a time; the first includes reading the prompt, as upstream's does."""
    for slot in range(batch):
        model.start(slot, endless(slot, hidden, tokens), 0)
    model.step([Prefill(slot, 0, PROMPT) for slot in range(batch)], [])
    for number in range(1, tokens):
        model.step([], range(batch))
        if number % SEGMENT == 0:
            yield None
    for slot in range(batch):
        model.stop(slot)


def timed(segments: Iterator[object]) -> float:
    began = time.perf_counter()
    next(segments)
    return time.perf_counter() - began


@torch.inference_mode()
def decode(checkpoint: Checkpoint, chat: Chat, options: argparse.Namespace) -> list[Row]:
    mode, segments = options.mode, options.segments
    model, rows = native(checkpoint, mode, options.threads), list[Row]()
    hidden = checkpoint.config.gpt.hidden_size
    for batch in (1, 4, 8, 16):
        tokens = (segments + 2) * SEGMENT
        theirs = upstream_segments(chat, batch, tokens, hidden)
        ours = our_segments(model, batch, tokens, hidden)
        pairs = [(timed(theirs), timed(ours)) for _ in range(segments + 1)][1:]
        for _ in ours:
            pass
        their_s, our_s = (statistics.median(side) / SEGMENT for side in zip(*pairs, strict=True))
        rows.append({
            "mode": mode, "batch": batch, "upstream_ms": their_s * 1e3, "ours_ms": our_s * 1e3,
            "ours_min_ms": min(o for _, o in pairs) / SEGMENT * 1e3,
            "upstream_tokens_s": batch / their_s, "ours_tokens_s": batch / our_s,
            "ratio": statistics.median(t / o for t, o in pairs),
        })  # fmt: skip
    model.close()
    return rows


# floor


def step_bytes(checkpoint: Checkpoint, mode: Mode) -> int:
    """Weights that one step reads: all layers and the audio heads."""
    gpt = checkpoint.config.gpt
    layer = 4 * gpt.hidden_size**2 + 3 * gpt.hidden_size * gpt.intermediate_size
    weights = gpt.num_hidden_layers * layer + gpt.num_vq * gpt.num_audio_tokens * gpt.hidden_size
    return int(weights * {"fp32": 4, "bf16": 2, "int8": 1 + 4 / 128}[mode])


def bandwidth(size_bytes: int, threads: int) -> float:
    """Bytes a second that can be read from an array of this size; the best of many tries."""
    torch.set_num_threads(threads)
    array = torch.ones(size_bytes // 4)
    best_s = min(_seconds(array.sum) for _ in range(30))
    return size_bytes / best_s


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def floor(checkpoint: Checkpoint, mode: Mode, threads: int) -> Row:
    model, hidden = native(checkpoint, mode, threads), checkpoint.config.gpt.hidden_size
    size = step_bytes(checkpoint, mode)
    model.start(0, endless(0, hidden, 900), 0)
    model.step([Prefill(0, 0, PROMPT)], [])
    before = bandwidth(size, threads)
    steps_s = [_seconds(lambda: model.step([], [0])) for _ in range(200)]
    best = max(before, bandwidth(size, threads))
    model.close()
    floor_s = size / best
    return {
        "mode": mode, "step_bytes": size, "bandwidth_gb_s": best / 1e9, "floor_ms": floor_s * 1e3,
        "step_ms": statistics.median(steps_s) * 1e3, "step_min_ms": min(steps_s) * 1e3,
        "over_floor": statistics.median(steps_s) / floor_s,
    }  # fmt: skip


# precision


def precision(checkpoint: Checkpoint, threads: int, tokens: int = 120, paths: int = 3) -> list[Row]:
    hidden = checkpoint.config.gpt.hidden_size
    models = {mode: native(checkpoint, mode, threads) for mode in ("fp32", "bf16", "int8")}
    found: dict[str, list[torch.Tensor]] = {"bf16": [], "int8": []}
    for seed in range(paths):
        job = Job(prompt(seed, hidden), Sampling(temperature=1.0), seed, tokens, tokens)
        forced = prompt(seed, hidden, _codes(models["fp32"], job))
        logs = {name: _log_chances(model, forced) for name, model in models.items()}
        for name, divergences in found.items():
            exact = logs["fp32"]
            divergences.append((exact.exp() * (exact - logs[name])).sum(-1))
    for model in models.values():
        model.close()
    return [
        {"mode": name, "kl": float(kl.mean()), "kl_p99": float(kl.flatten().quantile(0.99))}
        for name, kl in ((name, torch.cat(parts)) for name, parts in found.items())
    ]


def _codes(model: NativeStepModel, job: Job) -> NDArray[np.int32]:
    step = model._step  # noqa: SLF001
    step.start(0, job)
    drawn = [step.step([Prefill(0, 0, PROMPT)], []).codes[0]]
    while len(drawn) < job.max_tokens:
        drawn.append(step.step([], [0]).codes[0])
    step.stop(0)
    return np.array(drawn)


def _log_chances(model: NativeStepModel, forced: Prompt) -> torch.Tensor:
    """Log probabilities at temperature 1 after each generated position, [n, codebooks, ids]."""
    step = model._step  # noqa: SLF001
    step.start(0, Job(forced, Sampling(), 0, 1))
    _, logits = step.read(0, 0, len(forced))
    step.stop(0)
    return torch.from_numpy(logits[PROMPT - 1 :]).log_softmax(-1)


# streams


async def listen(engine: Engine, job: Job, latency: str) -> Row:
    """One stream as a listener has it."""
    utterance = Utterance("", "en", SpeechOptions(latency=latency), seed=0)
    began = time.perf_counter()
    first_s, heard, played_until = 0.0, 0, 0.0
    underruns = 0
    async for piece in engine.speak(job, utterance):
        now = time.perf_counter() - began
        first_s = first_s or now
        underruns += heard > 0 and now > played_until
        played_until = max(played_until, now) + len(piece.samples) / RATE_HZ
        heard += len(piece.samples)
    total_s = time.perf_counter() - began
    return {"first_s": first_s, "total_s": total_s, "audio_s": heard / RATE_HZ,
            "rtf": total_s * RATE_HZ / heard, "underruns": underruns}  # fmt: skip


async def streams(model: NativeStepModel, hidden: int, count: int, latency: str) -> list[Row]:
    engine = Engine(model)
    await listen(engine, endless(99, hidden, 60), latency)
    found = [
        await asyncio.gather(
            *(listen(engine, endless(seed, hidden, TEN_SECONDS), latency) for seed in range(count))
        )
        for _ in range(3)
    ]
    await engine.close()
    return [row for rows in found for row in rows]


def upstream_stream(chat: Chat, skip: int) -> Row:
    """Upstream's own stream of 10 s; `skip` is its `pass_first_n_batches` (its default: 2)."""
    params = chat.InferCodeParams(
        min_new_token=TEN_SECONDS, max_new_token=TEN_SECONDS, pass_first_n_batches=skip,
        show_tqdm=False,
    )  # fmt: skip
    began, first_s, heard = time.perf_counter(), 0.0, 0
    with quiet():
        for piece in chat.infer("a quick brown fox jumps over the lazy dog", stream=True,
                                skip_refine_text=True, split_text=False,
                                params_infer_code=params):  # fmt: skip
            sound = np.asarray(piece).reshape(-1)
            first_s = first_s or (time.perf_counter() - began if len(sound) else 0.0)
            heard += len(sound)
    total_s = time.perf_counter() - began
    return {"first_s": first_s, "total_s": total_s, "rtf": total_s * RATE_HZ / heard}


def stream(checkpoint: Checkpoint, chat: Chat, mode: Mode, threads: int) -> list[Row]:
    hidden, rows = checkpoint.config.gpt.hidden_size, list[Row]()
    rows += [{"who": f"upstream skip={n}", **upstream_stream(chat, n)} for n in (2, 0)]
    for latency in ("low", "balanced", "exact"):
        runs = asyncio.run(streams(native(checkpoint, mode, threads), hidden, 1, latency))
        rows.append({"who": f"ours {mode} {latency}", **_medians(runs)})
    return rows


def many(checkpoint: Checkpoint, mode: Mode, threads: int) -> list[Row]:
    hidden, rows = checkpoint.config.gpt.hidden_size, list[Row]()
    for latency in ("low", "balanced"):
        for count in (1, 8):
            runs = asyncio.run(streams(native(checkpoint, mode, threads), hidden, count, latency))
            firsts = sorted(float(str(run["first_s"])) for run in runs)
            rows.append({
                "streams": count, "latency": latency, **_medians(runs),
                "first_p95_s": firsts[int(0.95 * (len(firsts) - 1) + 0.5)],
                "worst_rtf": max(float(str(run["rtf"])) for run in runs),
            })  # fmt: skip
    return rows


def _medians(runs: Sequence[Row]) -> Row:
    return {key: statistics.median(float(str(run[key])) for run in runs) for key in runs[0]}


def show(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}")
    for row in rows:
        print("  " + "  ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in row.items()
        ))  # fmt: skip


def run(options: argparse.Namespace, checkpoint: Checkpoint) -> dict[str, list[Row]]:
    torch.set_num_threads(options.threads)
    wanted, mode, threads = options.only.split(","), options.mode, options.threads
    chat = None
    if {"decode", "stream"} & set(wanted):
        chat = load_chat(checkpoint.files, checkpoint.config, torch.device("cpu"))
    sections = {
        "decode": lambda: decode(checkpoint, chat, options),
        "floor": lambda: [floor(checkpoint, mode, threads)],
        "precision": lambda: precision(checkpoint, threads),
        "stream": lambda: stream(checkpoint, chat, mode, threads),
        "many": lambda: many(checkpoint, mode, threads),
    }
    found = {}
    for name in wanted:
        found[name] = sections[name]()
        if not options.json:
            show(name, found[name])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="decode,floor,precision,stream,many")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--mode", default="int8", choices=["fp32", "bf16", "int8"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--segments", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.checkpoint or write(Path(scratch), replace(FULL))
        found = run(options, Checkpoint(directory(root)))
    if options.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
