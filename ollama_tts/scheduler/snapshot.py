"""`LoadedModel`: what `ps` shows of a model in memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ollama_tts.names import Digest, ModelName
from ollama_tts.scheduler.entry import Entry
from ollama_tts.store.model import LocalModel

FOREVER = timedelta(days=100_000)  # 273 years: clients print it as "Forever" and can parse it


@dataclass(frozen=True, slots=True)
class Guest:
    """A model that speaks on another one's weights, and what it adds to them in memory."""

    model: LocalModel
    size_bytes: int
    vram_bytes: int


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """One model in memory, or on its way in.

    `name` and `digest` are those of the model that had it loaded. `expires_at` lies around the
    year 2300 for one that is kept for ever, and not in the future for one that is on its way
    out. `context_length` is the voice's longest utterance. `active` counts requests that speak.
    `guests` have adapters of their own; `size_bytes` does not hold what they add.
    """

    model: LocalModel
    size_bytes: int
    vram_bytes: int
    expires_at: datetime
    context_length: int
    active: int
    loading: bool
    notes: Mapping[str, str]
    guests: tuple[Guest, ...] = ()

    @property
    def name(self) -> ModelName:
        """The name that had it loaded."""
        return self.model.name

    @property
    def digest(self) -> Digest:
        """The digest of that name's manifest."""
        return self.model.digest


def snapshot(entry: Entry, now_s: float, now: datetime) -> LoadedModel:
    """`entry` as it is now; `now_s` and `now` are the same moment on the two clocks."""
    runner = entry.runner
    memory = runner.memory if runner is not None else None
    traits = runner.traits if runner is not None else None
    return LoadedModel(
        model=entry.model,
        size_bytes=memory.total_bytes if memory else entry.model.size_bytes,
        vram_bytes=memory.vram_bytes if memory else 0,
        expires_at=now + _remaining(entry, now_s),
        context_length=traits.context_length if traits else entry.model.config.context_length,
        active=entry.leases,
        loading=entry.state == "loading",
        notes=traits.notes if traits else {},
        guests=tuple(_guests(entry)),
    )


def _guests(entry: Entry) -> Iterator[Guest]:
    for model, runner in entry.views.guests() if entry.views is not None else ():
        memory = runner.memory
        yield Guest(model, memory.total_bytes, memory.vram_bytes)


def _remaining(entry: Entry, now_s: float) -> timedelta:
    if entry.state == "closing":
        return timedelta()
    left_s = entry.keep_alive_s
    if entry.expires_at_s is not None:
        left_s = entry.expires_at_s - now_s
    return timedelta(seconds=max(0.0, left_s)) if left_s < FOREVER.total_seconds() else FOREVER
