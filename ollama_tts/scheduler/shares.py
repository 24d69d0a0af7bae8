"""`Shares`: how much of the server each caller has had lately, in seconds that it held places.

Start-time fair queueing: the caller who has had least goes first. Whoever comes anew begins where
the least served of those present stands: staying away saves nothing up, and having been alone
costs nothing.
"""

from dataclasses import dataclass, field

TURN_S = 1.0
"""What one more place counts before it is known how long it will be held."""


@dataclass(slots=True)
class _Caller:
    """`requests`: waiting or speaking. `begun_s`: the moments at which its places were taken."""

    had_s: float = 0.0
    requests: int = 0
    begun_s: list[float] = field(default_factory=list)
    served_s: dict[int, float] = field(default_factory=dict)

    def held_s(self, now_s: float) -> float:
        return self.had_s + sum(now_s - begun_s for begun_s in self.begun_s)


class Shares:
    """One account a caller, for as long as it makes a difference."""

    def __init__(self) -> None:
        self._callers: dict[str, _Caller] = {}

    def __len__(self) -> int:
        return len(self._callers)

    def come(self, client: str, now_s: float) -> None:
        """A request of this caller has come."""
        caller = self._callers.get(client)
        if caller is None or not caller.requests:
            floor_s = self._forget(now_s)
            caller = self._callers.setdefault(client, _Caller())
            caller.had_s = max(caller.had_s, floor_s)
        caller.requests += 1

    def go(self, client: str) -> None:
        """A request of this caller is over, or has left the queue."""
        self._callers[client].requests -= 1

    def begin(self, client: str, priority: int, now_s: float) -> None:
        """One of its requests, of this priority, got a place."""
        self._callers[client].begun_s.append(now_s)
        self._callers[client].served_s[priority] = now_s

    def end(self, client: str, begun_s: float, now_s: float) -> None:
        """The place taken at `begun_s` was given back."""
        self._callers[client].begun_s.remove(begun_s)
        self._callers[client].had_s += now_s - begun_s

    def share_s(self, client: str, now_s: float) -> float:
        """What the caller has had, with a turn for each place that it holds now."""
        caller = self._callers[client]
        return caller.held_s(now_s) + TURN_S * len(caller.begun_s)

    def served_s(self, client: str, priority: int) -> float:
        """When one of its requests of this priority last got a place; -inf for never."""
        return self._callers[client].served_s.get(priority, float("-inf"))

    def _forget(self, now_s: float) -> float:
        """The share of the least served who is here; accounts not above it are dropped."""
        here = [c.held_s(now_s) for c in self._callers.values() if c.requests]
        floor_s = min(here, default=0.0)
        self._callers = {
            client: caller
            for client, caller in self._callers.items()
            if caller.requests or (here and caller.had_s > floor_s)
        }
        return floor_s
