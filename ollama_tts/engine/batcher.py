"""Who is spoken next: continuous batching as policy alone, without tensors, threads or a clock.

The order is that of need. First come those whose listener has heard nothing yet or has run out of
sound, then those whose sound runs out next. Equal need goes by priority, then age; waiting raises
the priority, so nobody starves. Where all slots are taken, one that is far ahead of its listener
gives way to one that is needed now. Out of memory halves the number of utterances spoken together;
those over it are stopped, queue up again with their age and start anew (the same tokens come
again). The limit grows back after a quiet time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ollama_tts.engine.step_model import Job, Prefill

NOW = float("-inf")
LATER = float("inf")
EQUAL_NEED_S = 0.1
URGENT_S = 0.5
COMFORTABLE_S = 3.0
PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much at once.

    `slots`: most utterances. `prefill_tokens`: most prompt positions read in a step, so that a
    long prompt does not hold up those who speak. `recover_s`: quiet time after which a limit
    lowered by lack of memory doubles again.
    """

    slots: int
    prefill_tokens: int = 64
    recover_s: float = 10.0


@dataclass(eq=False, slots=True)
class Entry:
    """One utterance on its way. `age` orders by arrival (at `since_s`), `index` in its `request`.

    `read` prompt positions and `tokens` belong to the present start; `sent_s`, the seconds of
    sound given out, and `attempt` outlive a stop.
    """

    job: Job
    age: int
    since_s: float = 0.0
    request: str = ""
    index: int = 0
    priority: int = 0
    deadline_s: float | None = None
    slot: int | None = None
    read: int = 0
    tokens: int = 0
    attempt: int = 0
    sent_s: float = 0.0

    @property
    def reading(self) -> bool:
        """Whether its prompt has not been read to the end."""
        return self.read < len(self.job.prompt)


@dataclass(slots=True)
class _Listener:
    """One request's listener: when its sound began, what it was sent of each utterance."""

    began_s: float = NOW
    sent_s: dict[int, float] = field(default_factory=dict)
    live: set[Entry] = field(default_factory=set)

    def needs_s(self, entry: Entry) -> float:
        """When the listener needs more of an utterance; NOW if nothing was heard yet."""
        if self.began_s == NOW:
            return NOW if self.next_up(entry) else LATER
        return self.began_s + sum(s for i, s in self.sent_s.items() if i <= entry.index)

    def next_up(self, entry: Entry) -> bool:
        """Whether the listener is waiting for this utterance, not for an earlier one."""
        return entry.index == min(e.index for e in self.live)

    def take(self, entry: Entry, seconds: float, now_s: float) -> None:
        """More sound arrives. Where the listener had run dry, playing goes on from now."""
        if self.began_s == NOW:
            self.began_s = now_s
        elif self.next_up(entry):
            self.began_s += max(0.0, now_s - self.needs_s(entry))
        self.sent_s[entry.index] = self.sent_s.get(entry.index, 0.0) + seconds


class Batcher:
    """Queue, slots and order. Every method is told the time; nothing is looked up."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.limit = limits.slots
        self.back_offs = 0
        self.waiting: list[Entry] = []
        self.running: list[Entry] = []
        self._listeners: dict[str, _Listener] = {}
        self._free = set(range(limits.slots))
        self._quiet_since_s = 0.0

    def add(self, entry: Entry) -> None:
        """Queue an utterance."""
        self.waiting.append(entry)
        self._listeners.setdefault(entry.request, _Listener()).live.add(entry)

    def remove(self, entry: Entry) -> int | None:
        """Forget an utterance, wherever it is; returns the slot that it held."""
        slot = self._release(entry)
        if entry in self.waiting:
            self.waiting.remove(entry)
        listener = self._listeners[entry.request]
        listener.live.discard(entry)
        if not listener.live:
            del self._listeners[entry.request]
        return slot

    def overdue(self, now_s: float) -> list[Entry]:
        """The utterances whose deadline has passed."""
        everyone = self.waiting + self.running
        return [e for e in everyone if e.deadline_s is not None and e.deadline_s <= now_s]

    def admit(self, now_s: float) -> list[Entry]:
        """Give free slots, lowest number first, to those in greatest need."""
        self._recover(now_s)
        room = min(len(self._free), self.limit - len(self.running))
        admitted = self.in_order(self.waiting, now_s)[: max(0, room)]
        for entry in admitted:
            self.waiting.remove(entry)
            self.running.append(entry)
            entry.slot = min(self._free)
            self._free.remove(entry.slot)
        return admitted

    def giving_way(self, now_s: float) -> list[Entry]:
        """Who runs far ahead while somebody needed now finds no slot, for `requeue`."""
        free = min(len(self._free), self.limit - len(self.running))
        needed = sum(self._need(e, now_s) == NOW for e in self.waiting) - max(0, free)
        ahead = [e for e in self.running if self._ahead_s(e, now_s) > COMFORTABLE_S]
        return self.in_order(ahead, now_s)[::-1][: max(0, needed)]

    def plan(self, now_s: float) -> tuple[list[Prefill], list[Entry]]:
        """The next step: prompt chunks to read, and whose next token to draw.

        While somebody's need is urgent, those far ahead of their listener wait.
        """
        ordered = self.in_order(self.running, now_s)
        urgent = any(self._ahead_s(e, now_s) < URGENT_S for e in ordered)
        decode = [
            e for e in ordered
            if not e.reading and not (urgent and self._ahead_s(e, now_s) > COMFORTABLE_S)
        ]  # fmt: skip
        return self._chunks(e for e in ordered if e.reading), decode

    def in_order(self, entries: Iterable[Entry], now_s: float) -> list[Entry]:
        """By need, then priority (one more for every PATIENCE_S of waiting), then age."""

        def key(e: Entry) -> tuple[float, float, int]:
            return self._need(e, now_s), (e.since_s - now_s) // PATIENCE_S - e.priority, e.age

        return sorted(entries, key=key)

    def sent(self, entry: Entry, seconds: float, now_s: float) -> None:
        """Note that sound of an utterance went out to its listener."""
        entry.sent_s += seconds
        self._listeners[entry.request].take(entry, seconds, now_s)

    def requeue(self, entry: Entry) -> int:
        """Stop a running utterance, to be started again; returns the slot to be freed."""
        slot = self._release(entry)
        assert slot is not None
        entry.read = entry.tokens = 0
        self.waiting.append(entry)
        return slot

    def back_off(self, now_s: float) -> list[Entry]:
        """Memory ran out with the utterances now running: halve the limit.

        Returns those over it, least needed first in line to go, for `requeue`. Empty where one ran
        alone: there is nothing left to give way.
        """
        self.limit = max(1, min(self.limit, len(self.running)) // 2)
        self.back_offs += 1
        self._quiet_since_s = now_s
        return self.in_order(self.running, now_s)[self.limit :] if len(self.running) > 1 else []

    def no_room(self, now_s: float) -> None:
        """Memory ran out in starting one more: as many as run now are the limit."""
        self.limit = max(1, len(self.running))
        self.back_offs += 1
        self._quiet_since_s = now_s

    def _need(self, entry: Entry, now_s: float) -> float:
        ahead_s = self._ahead_s(entry, now_s)
        if ahead_s <= 0:
            return NOW
        return ahead_s if ahead_s == LATER else ahead_s // EQUAL_NEED_S

    def _ahead_s(self, entry: Entry, now_s: float) -> float:
        """Seconds until the listener needs more of this utterance."""
        return self._listeners[entry.request].needs_s(entry) - now_s

    def _chunks(self, reading: Iterable[Entry]) -> list[Prefill]:
        chunks, left = [], self.limits.prefill_tokens
        for entry in reading:
            count = min(left, len(entry.job.prompt) - entry.read)
            if count and entry.slot is not None:
                chunks.append(Prefill(entry.slot, entry.read, entry.read + count))
                left -= count
        return chunks

    def _release(self, entry: Entry) -> int | None:
        slot, entry.slot = entry.slot, None
        if slot is not None:
            self.running.remove(entry)
            self._free.add(slot)
        return slot

    def _recover(self, now_s: float) -> None:
        if self.limit < self.limits.slots and now_s - self._quiet_since_s >= self.limits.recover_s:
            self.limit = min(self.limits.slots, self.limit * 2)
            self._quiet_since_s = now_s
