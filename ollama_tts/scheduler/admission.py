"""`Admission`: who waits, who goes next, and who is turned away. Policy alone: no clock, no I/O.

- **Order**: higher priority first; among equals the caller who has had least of the server; then
  who came first. A priority that is never served rises by one every `PATIENCE_S`, so none starves.
- **Bounds**: so many wait in all, and for one model. One too many costs the newest request of the
  lowest priority its place, of the caller with most of those; that may be the newcomer itself.
- **In time or not at all**: who would wait longer than the limit, or than its own deadline, is
  turned away at once rather than late.
- **Long requests** cannot hold a model alone: while they speak, a few places more are open to
  short ones. The engine then shares its steps by need, utterance by utterance.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from ollama_tts.scheduler.shares import TURN_S, Shares

PATIENCE_S = 10.0
LONG_CHARS = 1000
LONG_S = 15.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a request says of itself.

    `client` is whom it counts for. `chars` is how long its text is, None while that is unknown.
    `deadline_s` is a point on the clock after which it is of no use.
    """

    client: str = ""
    priority: int = 0
    chars: int | None = None
    deadline_s: float | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class Claim:
    """One request for a place on the model `key`. `number` orders by arrival, at `since_s`."""

    key: str
    terms: Terms
    number: int
    since_s: float
    begun_s: float | None = None

    def long(self, now_s: float) -> bool:
        """Whether its text is long, or it has been speaking for long."""
        told = self.terms.chars is not None and self.terms.chars > LONG_CHARS
        return told or (self.begun_s is not None and now_s >= self.begun_s + LONG_S)


def places(slots: int, speaking: Collection[Claim], claim: Claim, now_s: float) -> int:
    """How many may speak at once on a model, as far as `claim` is concerned.

    Long ones take no more than `slots`; beside them short ones have a quarter more, at least one.
    """
    long = sum(other.long(now_s) for other in speaking)
    more = min(long, max(1, slots // 4))
    if claim.long(now_s):
        more = min(more, len(speaking) - long)
    return slots + more


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many may wait: in all, for one model, and for how long."""

    total: int
    per_model: int
    longest_s: float = float("inf")


C = TypeVar("C", bound=Claim)


class Admission(Generic[C]):
    """The queue. `waiting` is in order of arrival; every method is told the time."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.waiting: list[C] = []
        self.shares = Shares()

    def come(self, claim: C, now_s: float) -> None:
        """A request has arrived."""
        self.waiting.append(claim)
        self.shares.come(claim.terms.client, now_s)

    def leave(self, claim: C) -> None:
        """It waits no longer, and gets nothing."""
        self.waiting.remove(claim)
        self.shares.go(claim.terms.client)

    def begin(self, claim: C, now_s: float) -> None:
        """It has got its place."""
        self.waiting.remove(claim)
        claim.begun_s = now_s
        self.shares.begin(claim.terms.client, claim.terms.priority, now_s)

    def end(self, claim: C, now_s: float) -> float:
        """It gives its place back; returns how long it held it."""
        assert claim.begun_s is not None
        self.shares.end(claim.terms.client, claim.begun_s, now_s)
        self.shares.go(claim.terms.client)
        return now_s - claim.begun_s

    def in_order(self, now_s: float) -> list[C]:
        """Who goes next: each of a caller's requests counts as if those before it had begun."""
        next_s: dict[tuple[str, int], float] = {}
        keyed = []
        for claim in self.waiting:
            level = self._level(claim, now_s)
            kind = claim.terms.client, level
            share_s = next_s.get(kind)
            if share_s is None:
                share_s = self.shares.share_s(claim.terms.client, now_s)
            next_s[kind] = share_s + TURN_S
            keyed.append((-level, share_s, claim.number, claim))
        keyed.sort()  # no two have one number, so claims are never compared
        return [claim for *_, claim in keyed]

    def _level(self, claim: C, now_s: float) -> int:
        """The priority, raised by waiting in which nothing like it was served."""
        if now_s - claim.since_s < PATIENCE_S:
            return claim.terms.priority
        served_s = self.shares.served_s(claim.terms.client, claim.terms.priority)
        return claim.terms.priority + int((now_s - max(claim.since_s, served_s)) // PATIENCE_S)

    def one_too_many(self, key: str, promised: Counter[str]) -> C | None:
        """Whom to turn away now that one more waits for `key`; None where all have room.

        `promised` counts by model those for whom places are on their way: they do not wait.
        """
        own = [claim for claim in self.waiting if claim.key == key]
        if len(own) - promised[key] > self.bounds.per_model:
            return _least(own)
        if len(self.waiting) - promised.total() > self.bounds.total:
            return _least(self.waiting)
        return None

    def in_vain(self, claim: C, wait_s: float, now_s: float) -> bool:
        """Whether a request that would wait that long had better not wait at all."""
        late = claim.terms.deadline_s is not None and now_s + wait_s >= claim.terms.deadline_s
        return late or wait_s > self.bounds.longest_s

    def overdue(self, now_s: float) -> list[C]:
        """Who has waited longer than anyone should."""
        return [c for c in self.waiting if now_s >= c.since_s + self.bounds.longest_s]


def _least(claims: list[C]) -> C:
    lowest = min(claim.terms.priority for claim in claims)
    least = [claim for claim in claims if claim.terms.priority == lowest]
    crowd = Counter(claim.terms.client for claim in least)
    return max(least, key=lambda claim: (crowd[claim.terms.client], claim.number))
