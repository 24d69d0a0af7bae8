"""`Lease`: what a request gets from the scheduler."""

from dataclasses import dataclass

from ollama_tts.backends.base import Runner
from ollama_tts.scheduler.entry import Entry
from ollama_tts.scheduler.queue import Waiter
from ollama_tts.store.model import LocalModel


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to speak on a loaded model. `load_ns` and `queued_ns`: what it was waited for."""

    runner: Runner
    model: LocalModel
    load_ns: int
    queued_ns: int


def lease_of(waiter: Waiter, entry: Entry, runner: Runner, now_s: float) -> Lease:
    """The lease of a waiter that got `entry`, with what it speaks on there, now.

    Making its own view of a loaded model counts as loading.
    """
    waited_s = now_s - waiter.since_s
    granted_s = waiter.begun_s if waiter.begun_s is not None else now_s
    loading_s = max(0.0, entry.ready_s - max(waiter.since_s, entry.began_s)) + now_s - granted_s
    load_ns = int(min(loading_s, waited_s) * 1e9)
    queued_ns = max(0, int(waited_s * 1e9) - load_ns)
    return Lease(runner, waiter.model, load_ns, queued_ns)
