"""A backend whose loads end when the test says so; its runners are those of the voice `tone`."""

import asyncio
import queue
import threading
from dataclasses import dataclass, field, replace

from typing_extensions import override

from ollama_tts.backends.base import Backend, Memory, Traits
from ollama_tts.backends.tone.backend import ToneRunner
from ollama_tts.errors import Cancelled
from ollama_tts.options import LoadOptions
from ollama_tts.store.model import LocalModel


class CountedRunner(ToneRunner):
    """A `tone` runner that knows whether it was closed; `slots` and memory as the test wants."""

    def __init__(self, slots: int, memory: Memory) -> None:
        super().__init__()
        self._claims = slots
        self._weighs = memory
        self.closed = asyncio.Event()
        self.closes = 0
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.close_error: Exception | None = None

    @property
    @override
    def traits(self) -> Traits:
        return replace(super().traits, slots=self._claims, notes={"quantization": "none"})

    @property
    @override
    def memory(self) -> Memory:
        return self._weighs

    @override
    async def close(self) -> None:
        await self.may_close.wait()
        self.closes += 1
        self.closed.set()
        if self.close_error is not None:
            raise self.close_error
        await super().close()


@dataclass(eq=False)
class GatedLoad:
    """One load that is waiting for the test: `finish` or `fail` it."""

    model: LocalModel
    options: LoadOptions
    stop: threading.Event
    runner: CountedRunner
    error: Exception | None = None
    gate: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread = field(default_factory=threading.current_thread)

    def finish(self) -> CountedRunner:
        self.gate.set()
        return self.runner

    def fail(self, error: Exception) -> None:
        self.error = error
        self.gate.set()


class GatedBackend:
    """Every load waits until the test finishes it; with `open_gates` none waits.

    `loads` are all that began. It is its own catalog: one backend for all formats.
    """

    def __init__(self, slots: int = 1, *, open_gates: bool = False) -> None:
        self.slots = slots
        self.memory = Memory(total_bytes=1000, vram_bytes=400)
        self.open_gates = open_gates
        self.loads: list[GatedLoad] = []
        self._began: queue.SimpleQueue[GatedLoad] = queue.SimpleQueue()

    async def next_load(self) -> GatedLoad:
        """The next load, as soon as it has begun."""
        return await asyncio.to_thread(self._began.get, timeout=60)

    @property
    def runners(self) -> list[CountedRunner]:
        """What the loads gave or will give, in order."""
        return [load.runner for load in self.loads]

    def backend(self, model_format: str) -> Backend:
        return self

    def estimate(self, model: LocalModel, options: LoadOptions) -> Memory:
        return self.memory

    def load(self, model: LocalModel, options: LoadOptions) -> CountedRunner:
        return self._pass(GatedLoad(model, options, threading.Event(), self._runner()))

    def _runner(self) -> CountedRunner:
        return CountedRunner(self.slots, self.memory)

    def _begin(self, load: GatedLoad) -> None:
        self.loads.append(load)
        self._began.put(load)

    def _pass(self, load: GatedLoad) -> CountedRunner:
        if self.open_gates:
            load.gate.set()
        self._begin(load)
        assert load.gate.wait(60), "the test left a load waiting"
        if load.error is not None:
            raise load.error
        return load.runner


class InterruptibleBackend(GatedBackend):
    """Its loads end early when nobody wants them any more."""

    def load_until(
        self, model: LocalModel, options: LoadOptions, stop: threading.Event
    ) -> CountedRunner:
        load = GatedLoad(model, options, stop, self._runner())
        self._begin(load)
        while not load.gate.wait(0.005):
            if stop.is_set():
                raise Cancelled("the load was interrupted")
        return load.runner
