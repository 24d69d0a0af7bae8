"""Hostile names, digests, paths, manifests, listings, headers: thrown at the store and at pulls.

    python benchmarks/hostile.py [--inputs 100000] [--seed 1] [--only KIND]

Each input ends in a result or in one of this package's own errors; anything else ends the run and
names the seed and the input's number, which repeat it. Python's audit events tell of every file
that is opened for writing, made, moved or removed: all must lie below the store. Memory, now and at
its peak, is looked at after the first tenth of the inputs and after the last.
"""

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import httpx

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent.parent))

from ollama_tts.errors import OllamaTTSError
from ollama_tts.names import Digest, ModelName, RelativePath, VoiceName
from ollama_tts.protocol.ollama import CreateRequest, ShowRequest
from ollama_tts.registry import hub
from ollama_tts.registry.auth import Challenge
from ollama_tts.registry.ranges import body_of
from ollama_tts.registry.trust import take_login
from ollama_tts.registry.web import allowed
from ollama_tts.service import hub_files
from ollama_tts.store.layout import Layout
from ollama_tts.store.partial import Partial
from tests.support import hostile
from tests.support.pulls import Place, place
from tests.support.registry import FakeRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TARGET = "registry.test/ns/target"
MOST_GROWTH_BYTES = 32 * 1024 * 1024
MOST_AT_ONCE_BYTES = 128 * 1024 * 1024
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_EVENTS = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.utime", "shutil.rmtree",
}  # fmt: skip


class Guard:
    """Listens to audit events: what is written outside of `root` is kept in `strayed`."""

    def __init__(self, root: Path) -> None:
        self.root = os.path.realpath(root)
        self.strayed: list[str] = []
        sys.addaudithook(self._heard)

    def _heard(self, event: str, args: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if not isinstance(flags, int) or not flags & _WRITES:
                return
            touched = [path]
        elif event in _EVENTS:
            touched = list(args[:2])
        else:
            return
        for path in touched:
            if isinstance(path, str | bytes | os.PathLike):
                self._look(event, os.fsdecode(path))

    def _look(self, event: str, path: str) -> None:
        real = os.path.realpath(path)
        if real != os.devnull and os.path.commonpath([real, self.root]) != self.root:
            self.strayed.append(f"{event} {path}")


class Attack:
    """One store and one registry, and the ways to harm them; each takes its own `Random`."""

    def __init__(self, here: Place, registry: FakeRegistry, root: Path) -> None:
        self.here, self.registry, self.root = here, registry, root
        self.layout = Layout(root)
        here.commit("tiny", {"a.json": b'{"nobody else has": "this"}'})
        self.kinds: dict[str, tuple[int, Callable[[Random], Awaitable[None]]]] = {
            "names": (30, self.names),
            "digests": (10, self.digests),
            "paths": (10, self.paths),
            "manifests": (30, self.manifests),
            "listings": (10, self.listings),
            "records": (4, self.records),
            "headers": (5, self.headers),
            "pulls": (1, self.pulls),
        }

    def within(self, path: Path, folder: Path) -> None:
        real = os.path.realpath(path)
        assert os.path.commonpath([real, os.path.realpath(folder)]) != real, path
        assert real.startswith(os.path.realpath(folder) + os.sep), path

    async def names(self, rnd: Random) -> None:
        text = hostile.text(rnd)
        if rnd.random() < 0.3:
            VoiceName.parse(text)
        asked, _ = take_login(text) if rnd.random() < 0.3 else (text, None)
        name = ModelName.parse_reference(asked)
        self.within(self.layout.manifest(name), self.layout.manifests)
        assert ModelName.parse(name.full) == name
        self.here.store.copy(ModelName.parse("tiny"), name)
        assert name.folded in {model.name.folded for model in self.here.store.list()}
        if name != ModelName.parse("tiny"):
            self.here.store.delete(name)

    async def digests(self, rnd: Random) -> None:
        digest = Digest.parse(hostile.text(rnd))
        self.within(self.layout.blob(digest), self.layout.blobs)
        self.here.store.blobs.add(digest, [b"other bytes"])

    async def paths(self, rnd: Random) -> None:
        files = {hostile.text(rnd): hostile.text(rnd) for _ in range(2)}
        data = hostile.content(rnd)
        digest = str(self.here.store.blobs.put(data))
        kept = next(iter(files))
        files[kept] = digest
        request = CreateRequest(model="made", files=files, adapters={kept: digest})
        try:
            async for _ in self.here.creates.create(request):
                pass
            RelativePath.parse(kept)
        finally:
            self.here.store.blobs.remove(Digest.of(data))

    async def manifests(self, rnd: Random) -> None:
        blobs = [hostile.content(rnd) for _ in range(rnd.randint(1, 4))]
        digests = [self.here.store.blobs.put(data) for data in blobs]
        try:
            self.here.store.adopt(ModelName.parse(TARGET), hostile.manifest(rnd, blobs))
            await self._looked_at()
        finally:
            self._forget()
            for digest in digests:
                self.here.store.blobs.remove(digest)

    async def _looked_at(self) -> None:
        """What is stored can be listed and shown, or says why not."""
        model = self.here.store.get(ModelName.parse(TARGET))
        for path in (*model.files.values(), *model.adapters.values()):
            self.within(path, self.layout.blobs)
        assert len(self.here.store.list()) >= 2
        json.dumps((await self.here.models.show(ShowRequest(model=TARGET))).model_info)

    def _forget(self) -> None:
        name = ModelName.parse(TARGET)
        if name in {model.name for model in self.here.store.list()}:
            self.here.store.delete(name)

    async def listings(self, rnd: Random) -> None:
        found = hub.parse_listing("owner/repo", hostile.listing(rnd), "hub.test")
        for file in hub_files.chosen_files(found, hostile.text(rnd)):
            assert not Path(file.path).is_absolute()
            assert ".." not in Path(file.path).parts

    async def records(self, rnd: Random) -> None:
        size = rnd.randint(0, 300)
        digest = Digest.of(rnd.randbytes(8))
        good = {"size": size, "parts": [[0, size // 2, 3], [size // 2, size, 0]]}
        file = self.layout.blobs / f"{digest.filename}-partial"
        file.write_bytes(bytes(size))
        record = file.with_name(f"{file.name}.json")
        record.write_bytes(hostile.encoded(rnd, hostile.changed(rnd, good)))
        partial = Partial(self.layout, digest, size, 100)
        assert sum(part.stop - part.start for part in partial.parts) == size
        assert 0 <= partial.done_bytes <= size
        partial.discard()

    async def headers(self, rnd: Random) -> None:
        sent = hostile.text(rnd).encode("latin-1", "replace")
        text = sent.decode("latin-1")
        Challenge.parse(f"Bearer realm={text},scope={text}")
        asked = httpx.Request("GET", "https://registry.test/x")
        shown = [(b"Content-Range", b"bytes " + sent), (b"Content-Length", sent)]
        body_of(httpx.Response(rnd.choice((200, 206)), headers=shown, request=asked))
        url = allowed(asked.url, text)
        assert url.scheme == "https"

    async def pulls(self, rnd: Random) -> None:
        blobs = [hostile.content(rnd) for _ in range(2)]
        self.registry.blobs = {str(Digest.of(data)): data for data in blobs}
        self.registry.manifests["ns/m:latest"] = hostile.manifest(rnd, blobs)
        self.registry.seen.clear()
        self.registry.sent.clear()
        name = f"{self.registry.host}/ns/m"
        await self.here.pull(name)
        await self.here.models.show(ShowRequest(model=name))
        self.here.store.delete(ModelName.parse(name))


def memory_bytes() -> tuple[int, int]:
    """Resident now, and at the most so far."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def run(attack: Attack, inputs: int, seed: int, only: str) -> Counter[str]:
    """Throw all inputs; gives how many of each kind were taken and refused, and the growth."""
    kinds = [only] if only else list(attack.kinds)
    weights = [attack.kinds[kind][0] for kind in kinds]
    seen: Counter[str] = Counter()
    warm = (0, 0)
    for number in range(inputs):
        rnd = Random(f"{seed}:{number}")
        [kind] = rnd.choices(kinds, weights)
        try:
            await attack.kinds[kind][1](rnd)
            seen[f"{kind}: taken"] += 1
        except OllamaTTSError:
            seen[f"{kind}: refused"] += 1
        except Exception:
            print(f"seed {seed}, input {number}, {kind}", file=sys.stderr)
            raise
        if number == inputs // 10:
            warm = memory_bytes()
    ended = memory_bytes()
    seen["grown bytes"], seen["grown bytes, peak"] = ended[0] - warm[0], ended[1] - warm[1]
    return seen


async def attacked(root: Path, inputs: int, seed: int, only: str) -> Counter[str]:
    with FakeRegistry().up() as registry:
        here = place(root)
        try:
            return await run(Attack(here, registry, root), inputs, seed, only)
        finally:
            await here.registries.aclose()


def measure(inputs: int, seed: int, only: str) -> tuple[Counter[str], list[str]]:
    """What `run` counts, and what was written where it must not be."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        outer = Path(folder).resolve()
        guard = Guard(outer)
        found = asyncio.run(attacked(outer / "models", inputs, seed, only))
        beside = [str(path) for path in outer.iterdir() if path.name != "models"]
        return found, [*guard.strayed, *beside]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    began = time.perf_counter()
    found, strayed = measure(asked.inputs, asked.seed, asked.only)
    for what, count in sorted(found.items()):
        print(f"{what:24} {count}")
    print(f"{'seconds':24} {time.perf_counter() - began:.0f}")
    grown = found["grown bytes"] > MOST_GROWTH_BYTES
    if strayed or grown or found["grown bytes, peak"] > MOST_AT_ONCE_BYTES:
        raise SystemExit(f"written outside the store, or grown: {strayed[:10]}")


if __name__ == "__main__":
    main()
