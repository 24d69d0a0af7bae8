"""kill -9 at random points: the store opens clean, nothing half visible, nothing confirmed lost."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ollama_tts.names import Digest
from ollama_tts.store.store import Store
from tests.support.stores import Clock

ROOT = Path(__file__).parent.parent.parent
WORKER = ROOT / "tests/support/store_worker.py"


class Ledger:
    """What must be true after a crash.

    `allowed`: for each name the digests that it may have now, "" for none. `waiting`: a blob
    that was confirmed and whose model was not.
    """

    def __init__(self) -> None:
        self.allowed: dict[str, set[str]] = {}
        self.waiting = ""
        self.done = 0

    def note(self, line: str) -> None:
        moment, kind, name, digest = json.loads(line)
        if moment == "done":
            self.done += 1
            self.waiting = digest if kind == "blob" else ""
            if kind != "blob":
                self.allowed[name] = {digest}
        elif kind != "blob":
            self.allowed[name] = self.allowed.get(name, {""}) | {digest}

    def check(self, store: Store) -> None:
        found = {model.name.short: str(model.digest) for model in store.list()}
        for name, allowed in self.allowed.items():
            assert found.pop(name, "") in allowed, name
        assert found == {}
        for model in store.list():
            assert all(path.is_file() for path in model.files.values())
        assert not self.waiting or store.blobs.has(Digest.parse(self.waiting))
        for digest, _ in store.blobs.stored():
            assert Digest.of(store.blobs.path(digest).read_bytes()) == digest
        self.settle(store)

    def settle(self, store: Store) -> None:
        """What lies there now is what later rounds start from."""
        self.waiting = ""
        there = {model.name.short: str(model.digest) for model in store.list()}
        self.allowed = {name: {there.get(name, "")} for name in self.allowed}


def run_and_kill(models_dir: Path, seed: int, ledger: Ledger) -> None:
    chance = random.Random(seed)
    lines = chance.randrange(1, 40)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(WORKER), str(models_dir), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for _ in range(lines):
            ledger.note(process.stdout.readline())
        deadline = time.perf_counter() + chance.random() * 0.01
        while time.perf_counter() < deadline:
            pass  # somewhere inside the next operation
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                ledger.note(line)


def test_killed_writers_leave_a_clean_store(
    models_dir: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger()
    with caplog.at_level(logging.WARNING):
        for seed in range(12):
            run_and_kill(models_dir, seed, ledger)
            ledger.check(Store(models_dir))
            opened = Store(models_dir, clock=clock)
            opened.open()
            ledger.check(opened)
    assert caplog.records == []
    assert ledger.done > 50


def test_after_an_hour_nothing_is_left_but_what_models_name(models_dir: Path, clock: Clock) -> None:
    ledger = Ledger()
    for seed in range(100, 104):
        run_and_kill(models_dir, seed, ledger)
    store = Store(models_dir, clock=clock)
    clock.advance(hours=3)
    store.open()
    ledger.waiting = ""
    ledger.check(store)
    named = {
        layer.digest
        for model in store.list()
        for layer in store.manifest(model.name).manifest.blobs()
    }
    assert {digest for digest, _ in store.blobs.stored()} == named
    assert list(models_dir.rglob(".*.tmp")) == []
