"""A model of full size: how fast `create -q` writes it anew, how fast it loads. One run, medians.

    python benchmarks/models_create.py [--json] [--rounds 3] [--types q8_0,q4_0]
        [--only create,load] [--threads 2]

A synthetic checkpoint of the official sizes (1.2 GB, random weights) is put in a store.

create  `POST /api/create {"from", "quantize"}` to `ollama-tts serve`, from the request to
        `success`: MB of float32 read a second, MB written, what the server's memory grew by at
        most. In turn with `cat FILES | sha256sum`: what reading and hashing that much costs
load    from the stored files to a model that is ready to speak, each in a process of its own that
        has imported everything: upstream's `Chat` on the safetensors, ours on the same (int8 by
        default on a CPU, self-test included), ours on a Q8_0 GGUF. Cold: the page cache had
        dropped the files; warm: they were read just before
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.served import served
from ollama_tts.backends.catalog import Catalog
from ollama_tts.backends.chattts.weights import directory
from ollama_tts.names import ModelName
from ollama_tts.store.model import LocalModel, ModelConfig
from ollama_tts.store.store import Store
from tests.support.checkpoints import FULL, write
from tests.support.stores import commit

LOADERS = {
    "upstream": """
import importlib, sys, time
from pathlib import Path
import torch
from ollama_tts.backends.chattts.reference import load_chat, quiet
from ollama_tts.backends.chattts.weights import Checkpoint, directory
torch.set_num_threads(int(sys.argv[2]))
with quiet():
    importlib.import_module("ChatTTS")
    files = directory(Path(sys.argv[1]))
    began_s = time.perf_counter()
    load_chat(files, Checkpoint(files).config, torch.device("cpu"))
print(time.perf_counter() - began_s)
""",
    "ours": """
import sys, time
from dataclasses import replace
from pathlib import Path
from ollama_tts.backends.chattts.backend import ChatTTSBackend
from ollama_tts.backends.chattts.weights import directory
from ollama_tts.options import LoadOptions
from tests.support.local_models import local_model
model = replace(local_model("x", "chattts"), files=directory(Path(sys.argv[1])))
backend = ChatTTSBackend()
began_s = time.perf_counter()
runner = backend.load(model, LoadOptions(num_thread=int(sys.argv[2])))
print(time.perf_counter() - began_s)
""",
}


def memory_bytes(pid: int, field: str) -> int:
    """`VmRSS` or `VmHWM` of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def drop(files: Sequence[Path]) -> None:
    """Let the page cache forget these files."""
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(files: Sequence[Path]) -> None:
    """Have these files in the page cache."""
    subprocess.run(["cat", *map(str, files)], stdout=subprocess.DEVNULL, check=True)


def hashed_s(files: Sequence[Path]) -> float:
    began_s = time.perf_counter()
    with subprocess.Popen(["cat", *map(str, files)], stdout=subprocess.PIPE) as cat:
        subprocess.run(["sha256sum"], stdin=cat.stdout, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began_s


def created_s(client: httpx.Client, name: str, quantize: str) -> float:
    began_s = time.perf_counter()
    asked = {"model": name, "from": "full", "quantize": quantize, "stream": False}
    answer = client.post("/api/create", json=asked)
    spent_s = time.perf_counter() - began_s
    assert answer.json() == {"status": "success"}, answer.text
    return spent_s


def create(store: Store, models_dir: Path, types: Sequence[str], rounds: int) -> dict[str, object]:
    source = store.get(ModelName.parse("full"))
    paths = list(source.files.values())
    read_mb = sum(path.stat().st_size for path in paths) / 1e6
    warm(paths)
    spent: dict[str, list[float]] = {name: [] for name in ("hashed", *types)}
    grown = 0
    with (
        served(models_dir.parent) as server,
        httpx.Client(base_url=server.url, timeout=600) as client,
    ):
        pid = server.process.pid
        for number in range(rounds):
            spent["hashed"].append(hashed_s(paths))
            for quantize in types:
                before = memory_bytes(pid, "VmRSS")
                spent[quantize].append(created_s(client, f"{quantize}-{number}", quantize))
                grown = max(grown, memory_bytes(pid, "VmHWM") - before)
                if number:
                    store.delete(ModelName.parse(f"{quantize}-{number}"))
    found: dict[str, object] = {
        "read MB": read_mb,
        "cat | sha256sum MB/s": read_mb / statistics.median(spent["hashed"]),
        "memory grew by MB": grown / 1e6,
    }
    for quantize in types:
        made_mb = size_mb(store.get(ModelName.parse(f"{quantize}-0")))
        median_s = statistics.median(spent[quantize])
        found[f"{quantize}: s"] = median_s
        found[f"{quantize}: MB/s read"] = read_mb / median_s
        found[f"{quantize}: MB written"] = made_mb
        found[f"{quantize}: share of the safetensors"] = made_mb / read_mb
    return found


def size_mb(model: LocalModel) -> float:
    return sum(path.stat().st_size for path in model.files.values()) / 1e6


def load(root: Path, gguf: Path, threads: int, rounds: int) -> dict[str, object]:
    cases = {
        "upstream": ("upstream", root),
        "ours": ("ours", root),
        "ours, Q8_0 GGUF": ("ours", gguf),
    }
    found: dict[str, object] = {}
    for state, prepare in (("cold", drop), ("warm", warm)):
        spent: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(rounds):
            for name, (loader, folder) in cases.items():
                prepare(list(directory(folder).values()))
                spent[name].append(loaded_s(LOADERS[loader], folder, threads))
        upstream_s = statistics.median(spent["upstream"])
        for name, times in spent.items():
            found[f"{state}, {name}: s"] = statistics.median(times)
            if name != "upstream":
                found[f"{state}, {name}: of upstream's"] = statistics.median(times) / upstream_s
    return found


def loaded_s(script: str, folder: Path, threads: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), str(threads)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--types", default="q8_0,q4_0")
    parser.add_argument("--only", default="create,load")
    options = parser.parse_args()
    found: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder) / "checkpoint", FULL)
        if "create" in options.only:
            models_dir = Path(folder) / "models"
            store = Store(models_dir)
            store.open()
            files = {name: path.read_bytes() for name, path in directory(root).items()}
            commit(store, "full", files, config=ModelConfig(model_format="chattts"))
            del files
            types = options.types.split(",")
            found["create"] = create(store, models_dir, types, options.rounds)
        if "load" in options.only:
            gguf = Path(folder) / "gguf"
            gguf.mkdir()
            with (gguf / "m.gguf").open("wb") as file:
                file.writelines(Catalog().conversion("chattts", directory(root), "Q8_0").chunks())
            found["load"] = load(root, gguf, options.threads, options.rounds)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for title, rows in found.items():
        print(f"\n{title}")
        for name, value in rows.items():
            print(f"  {name:40} {value:.4g}")


if __name__ == "__main__":
    main()
