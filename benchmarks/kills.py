"""kill -9 on the whole server at random moments: starts clean, nothing half there, nothing lost.

    python -m benchmarks.kills [--kills 200] [--seed 1]

One store and one cache on disk for all rounds. In each, callers make, copy and delete models, pull
one from a registry on loopback, and have texts spoken that are kept on disk; the server is killed
at a random moment. Started again it must be ready; list what was confirmed and nothing that was
never begun; every file that a listed model names must have its digest; and a kept sound must be
the sound that was heard before.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.served import Served, served
from tests.support.registry import FakeRegistry

_PULLED_BYTES = 24_000_000
_BLOB = re.compile(r"sha256:([0-9a-f]{64})")
_TEXTS = [f"Sound number {number} is kept on disk." for number in range(40)]
NAMES = ("one", "two", "three", "ns/four:v1")


@dataclass
class Known:
    """What callers know: confirmed models, names whose change was begun only, sounds heard."""

    there: dict[str, str] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    sounds: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    changes: int = 0


class Round:
    """The work between two starts. Every call may break off: the server is killed meanwhile."""

    def __init__(self, http: httpx.AsyncClient, known: Known, chance: random.Random) -> None:
        self._http = http
        self._known = known
        self._chance = chance

    async def change(self) -> None:
        """Make and delete, one after the other: what was answered is confirmed."""
        while True:
            name = full(self._chance.choice(NAMES))
            self._known.open.add(name)
            if name in self._known.there and self._chance.random() < 0.4:
                await self._ask("DELETE", "/api/delete", {"model": name})
                self._known.there.pop(name)
            else:
                seed = str(self._chance.randrange(1_000_000))
                body = {"model": name, "from": "tone", "parameters": {"seed": int(seed)}}
                lines = (await self._ask("POST", "/api/create", body)).splitlines()
                if json.loads(lines[-1]) != {"status": "success"}:
                    raise httpx.RemoteProtocolError("cut short")
                self._known.there[name] = seed
            self._known.open.discard(name)
            self._known.changes += 1

    async def speak(self) -> None:
        """Texts that are kept; each must sound as it did before."""
        while True:
            text = self._chance.choice(_TEXTS)
            body = {"model": "tone", "prompt": text, "options": {"cache": True}}
            answer = await self._http.post(
                "/api/generate", json=body, headers={"Accept": "audio/pcm"}
            )
            digest = hashlib.sha256(answer.content).hexdigest()
            if self._known.sounds.setdefault(text, digest) != digest:
                self._known.wrong.append(f"{text!r} sounds otherwise than before")

    async def pull(self, name: str) -> None:
        """The model that the registry has; deleted once it is there."""
        while True:
            self._known.open.add(name)
            await self._ask("POST", "/api/pull", {"model": name, "insecure": True})
            await self._ask("DELETE", "/api/delete", {"model": name})

    async def _ask(self, method: str, path: str, body: object) -> str:
        answer = await self._http.request(method, path, json=body)
        return answer.raise_for_status().text


def full(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


async def listed(http: httpx.AsyncClient) -> set[str]:
    """Names of all models but those of packages."""
    models = (await http.get("/api/tags")).raise_for_status().json()["models"]
    return {model["name"] for model in models} - {"tone:latest", "hibari:latest", "kokoro:latest"}


async def check(http: httpx.AsyncClient, models: Path, known: Known) -> None:
    """What a start after a kill must show."""
    names = await listed(http)
    for name in known.there.keys() - known.open:
        if name not in names:
            known.wrong.append(f"{name} was confirmed and is gone")
            continue
        shown = (await http.post("/api/show", json={"model": name})).raise_for_status().json()
        if known.there[name] not in shown.get("parameters", ""):
            known.wrong.append(f"{name} is not what was confirmed: {shown.get('parameters')!r}")
    for name in names - known.there.keys() - known.open:
        known.wrong.append(f"{name} is there and was never begun, or was deleted")
    for manifest in (models / "manifests").rglob("*"):
        if manifest.is_file() and not manifest.name.startswith("."):
            known.wrong += damaged(manifest, models / "blobs")
    for name in known.open & names:  # begun only: either way is right, and known from now on
        shown = (await http.post("/api/show", json={"model": name})).raise_for_status().json()
        known.there[name] = next(iter(re.findall(r"seed\s+(\d+)", shown.get("parameters", ""))), "")
    for name in known.open - names:
        known.there.pop(name, None)
    known.open.clear()


def damaged(manifest: Path, blobs: Path) -> list[str]:
    """What is wrong with the files that a manifest names."""
    found = []
    for digest in set(_BLOB.findall(manifest.read_text())):
        path = blobs / f"sha256-{digest}"
        if not path.is_file():
            found.append(f"{manifest.name}: {path.name} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            found.append(f"{manifest.name}: {path.name} is damaged")
    return found


async def work(server: Served, known: Known, pulled: str, chance: random.Random) -> None:
    """Check the start, then work until the kill."""
    async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as http:
        await check(http, server.log.parent / "models", known)
        workers = Round(http, known, chance)
        jobs = [workers.change(), workers.speak(), workers.speak(), workers.pull(pulled)]
        tasks = [asyncio.create_task(job) for job in jobs]
        await asyncio.sleep(chance.uniform(0.02, 1.0))
        server.process.kill()
        for task in tasks:
            with suppress(httpx.HTTPError, json.JSONDecodeError, IndexError):
                await task


def killed(folder: Path, kills: int, seed: int) -> Known:
    """All rounds, and one more start. Returns what is known at the end."""
    known, chance = Known(), random.Random(seed)
    with FakeRegistry().up() as registry:
        config = b'{"model_format":"tone","model_family":"tone"}'
        registry.put(
            "library/pulled", "latest", {"weights": chance.randbytes(_PULLED_BYTES)}, config
        )
        pulled = f"{registry.host}/library/pulled:latest"
        for _ in range(kills):
            with served(folder, OLLAMA_TTS_CACHE_DIR=str(folder / "sounds")) as server:
                asyncio.run(work(server, known, pulled, chance))
        with served(folder, OLLAMA_TTS_CACHE_DIR=str(folder / "sounds")) as server:
            asyncio.run(last(server, known))
    return known


async def last(server: Served, known: Known) -> None:
    """The start after the last kill."""
    async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as http:
        await check(http, server.log.parent / "models", known)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        known = killed(Path(folder), asked.kills, asked.seed)
    took_s = time.monotonic() - began_s
    print(f"{asked.kills} kills in {took_s:.0f} s: {known.changes} confirmed changes, "
          f"{len(known.sounds)} sounds, wrong: {len(known.wrong)}")  # fmt: skip
    for line in known.wrong[:10]:
        print("   ", line)
    raise SystemExit(bool(known.wrong))


if __name__ == "__main__":
    main()
