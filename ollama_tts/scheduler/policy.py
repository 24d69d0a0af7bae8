"""`decide`: what to do next, as a function of who waits and what is loaded. Nothing happens here.

Ollama's rules (server/sched.go): one load at a time; over the limit the idle model with the
shortest keep-alive goes, and if none is idle the one with the shortest keep-alive gets no new
requests until it is; other load options mean a reload. Ours: an order of service and a number
of places per model (`admission`), and nobody overtakes within a model, but a short request on a
place that is not for long ones.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from ollama_tts.scheduler.admission import places
from ollama_tts.scheduler.entry import Entry
from ollama_tts.scheduler.queue import Waiter


@dataclass(slots=True)
class Plan:
    """Steps to take, in this order: grant, close, load."""

    grants: list[tuple[Waiter, Entry]] = field(default_factory=list)
    closes: list[Entry] = field(default_factory=list)
    load: Waiter | None = None


def decide(
    entries: Mapping[str, Entry],
    waiting: Sequence[Waiter],
    now_s: float,
    *,
    max_loaded: int,
    alone: Set[str],
) -> Plan:
    """The steps that are possible now.

    `waiting` is in the order of service. `max_loaded` bounds `entries`. `alone` holds the keys
    of models that did not fit beside others: they are loaded when nothing else is.
    """
    return _Decision(entries, now_s, max_loaded, alone).over(waiting)


class _Decision:
    def __init__(
        self, entries: Mapping[str, Entry], now_s: float, max_loaded: int, alone: Set[str]
    ) -> None:
        self._entries = entries
        self._now_s = now_s
        self._max_loaded = max_loaded
        self._alone = alone
        self._granted: defaultdict[str, list[Waiter]] = defaultdict(list)
        self._plan = Plan()

    def over(self, waiting: Sequence[Waiter]) -> Plan:
        blocked: set[str] = set()
        full: set[str] = set()  # for long requests
        first_load = True
        for waiter in waiting:
            long = waiter.long(self._now_s)
            if waiter.key in blocked or (long and waiter.key in full):
                continue
            entry = self._entries.get(waiter.key)
            if entry is not None and entry.state == "ready" and entry.fits(waiter.options):
                if not self._grant(waiter, entry):
                    (full if long else blocked).add(waiter.key)
                continue
            blocked.add(waiter.key)
            if first_load:
                first_load = False
                blocked.update(self._make_way(waiter))
        self._expire()
        return self._plan

    def _grant(self, waiter: Waiter, entry: Entry) -> bool:
        speaking = [*entry.speaking, *self._granted[entry.key]]
        if len(speaking) >= places(entry.slots, speaking, waiter, self._now_s):
            return False
        self._granted[entry.key].append(waiter)
        self._plan.grants.append((waiter, entry))
        return True

    def _make_way(self, waiter: Waiter) -> list[str]:
        """Load for `waiter`, or free its place; the keys that must not get new requests."""
        if any(entry.state == "loading" for entry in self._entries.values()):
            return []
        leaving = self._who_leaves(waiter)
        self._plan.closes += [entry for entry in leaving if self._idle(entry)]
        if not leaving and self._room(waiter):
            self._plan.load = waiter
        return [entry.key for entry in leaving]

    def _who_leaves(self, waiter: Waiter) -> list[Entry]:
        own = self._entries.get(waiter.key)
        if own is not None:
            return [own] if own.state == "ready" else []
        ready = [entry for entry in self._entries.values() if entry.state == "ready"]
        if waiter.key in self._alone:
            return ready
        if len(ready) < self._max_loaded:
            return []
        return [min(ready, key=lambda e: (not self._idle(e), e.keep_alive_s, e.key))]

    def _room(self, waiter: Waiter) -> bool:
        if waiter.key in self._alone:
            return not self._entries
        return waiter.key not in self._entries and len(self._entries) < self._max_loaded

    def _expire(self) -> None:
        """Close what nobody uses and nobody keeps."""
        for entry in self._entries.values():
            spent = entry.dead or entry.keep_alive_s <= 0
            if spent and self._idle(entry) and entry not in self._plan.closes:
                self._plan.closes.append(entry)

    def _used(self, entry: Entry) -> int:
        return entry.leases + len(self._granted[entry.key])

    def _idle(self, entry: Entry) -> bool:
        return entry.state == "ready" and self._used(entry) == 0
