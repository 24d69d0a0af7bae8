"""Hostile weight files: each is read or refused with a sentence, and nothing else happens.

    python benchmarks/hostile_weights.py [--inputs 100000] [--seed 1]

Half of the inputs are GGUF, half safetensors; of each, half are built field by field from sizes,
counts, offsets and texts that lie, half are a sound file's header with bytes changed, taken out or
put in. Each goes the way of an upload: into a store's folder of blobs, then through what `create`
and `show` do with it; what is accepted is read. Ends with status 1 if anything but an error of
ours came out, if a file outside the folder was opened for writing, or if memory grew by 64 MiB.
"""

import argparse
import json
import os
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent))

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.conversion import convert
from ollama_tts.backends.chattts.facts import read_facts
from ollama_tts.backends.chattts.sources import open_source
from ollama_tts.errors import OllamaTTSError
from ollama_tts.service import weights

MINI = Path(__file__).parent.parent / "tests/data/chattts-mini"
MOST_GROWTH_BYTES = 64 << 20
MOST_WORDS = 2000
BATCH = 250
WRITING = os.O_WRONLY | os.O_RDWR
NUMBERS = st.sampled_from([
    0, 1, 2, 3, 4, 8, 9, 31, 32, 33, 64, 1000, 65_535, 65_536, 2**24, 2**31 - 1, 2**31, 2**32 - 1,
    2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1,
])  # fmt: skip
SMALL = st.integers(0, 12)
TEXTS = st.one_of(
    st.sampled_from(["", "general.architecture", "general.alignment", "chattts", "a", "../../x",
                     "/etc/passwd", "gpt.norm.weight", "chattts.block_count", "\0", "x" * 3000]),
    st.text(max_size=20),
)  # fmt: skip
Built = tuple[bytes, int]
"""A file's bytes, and how long it is made with zeros behind them."""


def _u32(value: int) -> bytes:
    return struct.pack("<I", value % 2**32)


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value % 2**64)


@st.composite
def gguf_texts(draw: st.DrawFn) -> bytes:
    data = draw(TEXTS).encode("utf-8", "surrogatepass")
    lie = draw(st.integers(0, 19)) == 0
    return _u64(draw(NUMBERS) if lie else len(data)) + data


@st.composite
def gguf_values(draw: st.DrawFn) -> bytes:
    kind = draw(st.integers(0, 13))
    if kind == 8:
        return _u32(kind) + draw(gguf_texts())
    if kind == 9:
        count = draw(st.one_of(SMALL, NUMBERS))
        return _u32(kind) + _u32(draw(SMALL)) + _u64(count) + draw(st.binary(max_size=64))
    return _u32(kind) + draw(st.binary(min_size=8, max_size=8))


@st.composite
def gguf_tensors(draw: st.DrawFn) -> bytes:
    shape = draw(st.lists(st.one_of(SMALL, NUMBERS), max_size=5))
    dimensions = draw(st.one_of(st.just(len(shape)), NUMBERS))
    sizes = b"".join(_u64(size) for size in shape)
    kind = draw(st.one_of(st.sampled_from([0, 1, 2, 6, 8, 30]), NUMBERS))
    offset = draw(st.one_of(st.integers(0, 8).map(lambda n: 32 * n), NUMBERS))
    return draw(gguf_texts()) + _u32(dimensions) + sizes + _u32(kind) + _u64(offset)


@st.composite
def ggufs(draw: st.DrawFn) -> Built:
    entries = draw(st.lists(st.tuples(gguf_texts(), gguf_values()).map(b"".join), max_size=5))
    tensors = draw(st.lists(gguf_tensors(), max_size=4))
    honest = draw(st.integers(0, 9)) > 0
    counts = (len(tensors), len(entries)) if honest else (draw(NUMBERS), draw(NUMBERS))
    version = draw(st.sampled_from([3, 3, 3, 2, 0, 2**31]))
    head = b"GGUF" + _u32(version) + _u64(counts[0]) + _u64(counts[1])
    data = head + b"".join(entries) + b"".join(tensors)
    return data, len(data) + draw(st.sampled_from([0, 1, 32, 4096, 1 << 20]))


@st.composite
def safetensors(draw: st.DrawFn) -> Built:
    numbers = st.one_of(SMALL, NUMBERS, st.integers(-3, 3))
    odd = st.one_of(st.none(), st.booleans(), st.floats(), TEXTS, st.lists(SMALL, max_size=2))
    tensor = st.fixed_dictionaries({
        "dtype": st.one_of(st.sampled_from(["F32", "F16", "BF16", "I8", "Q8_0"]), odd),
        "shape": st.one_of(st.lists(numbers, max_size=9), odd),
        "data_offsets": st.one_of(st.tuples(numbers, numbers), odd),
    })  # fmt: skip
    header = json.dumps(draw(st.dictionaries(TEXTS, st.one_of(tensor, odd), max_size=4))).encode()
    if draw(st.integers(0, 9)) == 0:
        header = draw(st.sampled_from([b"[" * 3000, b"{", b'{"a":' * 2000, b"\xff\xfe{}", b""]))
    honest = draw(st.integers(0, 9)) > 0
    length = len(header) if honest else draw(NUMBERS)
    return _u64(length) + header, 8 + len(header) + draw(st.sampled_from([0, 1, 4, 64, 1 << 20]))


@st.composite
def mutated(draw: st.DrawFn, sound: bytes, size: int) -> Built:
    data = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        how = draw(st.sampled_from(["set", "number", "cut", "put"]))
        if how == "set":
            data[at] = draw(st.integers(0, 255))
        elif how == "number":
            data[at : at + 8] = _u64(draw(NUMBERS))
        elif how == "cut":
            del data[at : at + draw(st.integers(1, 16))]
        else:
            data[at:at] = draw(st.binary(min_size=1, max_size=16))
    return bytes(data), draw(st.sampled_from([size, size, len(data), size - 1, size + 1]))


class Hostile:
    """Takes inputs the way of an upload, and keeps count of how they ended."""

    def __init__(self, root: Path, sound: Mapping[str, Path]) -> None:
        self.blob = root / "models/blobs" / ("sha256-" + "0" * 64)
        self.blob.parent.mkdir(parents=True)
        self._sound = dict(sound)
        self.ends: Counter[str] = Counter()

    def gguf(self, built: Built) -> None:
        self._write(built)
        self._end(lambda: _use({"m.gguf": self.blob}))

    def safetensors(self, built: Built) -> None:
        self._write(built)
        self._end(self._use_safetensors)

    def _use_safetensors(self) -> None:
        weights.check_adapter("x.safetensors", self.blob)
        _use({**self._sound, layout.VOCOS: self.blob})

    def _write(self, built: Built) -> None:
        data, size = built
        with self.blob.open("wb") as file:
            file.write(data)
            file.truncate(size)

    def _end(self, use: Callable[[], None]) -> None:
        try:
            use()
        except OllamaTTSError as error:
            self.ends["refused"] += 1
            if len(str(error)) > MOST_WORDS:
                raise AssertionError("an error of so many words") from error
        else:
            self.ends["read"] += 1


def _use(files: Mapping[str, Path]) -> None:
    """What `create` and `show` do; then the first row of each tensor, and some of a conversion."""
    weights.inspect(files)
    read_facts(files)
    for tensors in open_source(files).tensors.values():
        for stored in tensors.values():
            stored.raw(0, 1)
    for _, _chunk in zip(range(3), convert(files, None).chunks(), strict=False):
        pass


def many(inputs: int, start: int, strategy: st.SearchStrategy[Built],
         take: Callable[[Built], None]) -> None:  # fmt: skip
    """Take `inputs` drawn inputs; the first that does more than be read or refused is raised.

    Batches keep hypothesis's own memory of what it drew small.
    """

    for batch in range(-(-inputs // BATCH)):

        @seed(1_000_000 * start + batch)
        @settings(max_examples=min(BATCH, inputs - batch * BATCH), deadline=None, database=None,
                  suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # fmt: skip
        @given(strategy)
        def run(built: Built) -> None:
            take(built)

        run()


def watch_writes(root: Path) -> list[str]:
    """The files outside `root` that this process opens for writing from now on."""
    found: list[str] = []

    def hook(event: str, details: tuple[object, ...]) -> None:
        if event == "open" and isinstance(details[2], int) and details[2] & WRITING:
            path = os.fsdecode(details[0]) if isinstance(details[0], str | bytes) else ""
            if path and not Path(path).resolve().is_relative_to(root):
                found.append(path)

    sys.addaudithook(hook)
    return found


def peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sound = {p.relative_to(MINI).as_posix(): p for p in MINI.rglob("*.*") if p.suffix != ".md"}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        tempfile.tempdir = str(root)
        conversion = convert(sound, "Q8_0")
        header = next(iter(conversion.chunks()))
        vocos = sound[layout.VOCOS].read_bytes()
        length = 8 + int.from_bytes(vocos[:8], "little")
        hostile = Hostile(root, sound)
        rounds = [
            (ggufs(), hostile.gguf),
            (mutated(header, conversion.size_bytes), hostile.gguf),
            (safetensors(), hostile.safetensors),
            (mutated(vocos[:length], len(vocos)), hostile.safetensors),
        ]
        for strategy, take in rounds:
            many(50, options.seed - 1, strategy, take)
        hostile.ends.clear()
        writes, before, began_s = watch_writes(root), peak_bytes(), time.monotonic()
        for strategy, take in rounds:
            many(options.inputs // len(rounds), options.seed, strategy, take)
        grown = peak_bytes() - before
    ends = ", ".join(f"{count} {end}" for end, count in sorted(hostile.ends.items()))
    print(f"{ends}; memory grew by {grown / 1e6:.1f} MB; "
          f"{len(writes)} writes outside; {time.monotonic() - began_s:.0f} s")  # fmt: skip
    if writes or grown > MOST_GROWTH_BYTES:
        raise SystemExit(f"writes outside: {writes[:5]}; memory grew by {grown} bytes")


if __name__ == "__main__":
    main()
