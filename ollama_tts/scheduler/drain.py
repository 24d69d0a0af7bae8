"""`DrainRate`: how fast places on a model fall free, and so how long a queue before it takes."""

import math
from collections import deque

LONGEST_RETRY_S = 120


class DrainRate:
    """Measured from how long the last requests held their places."""

    def __init__(self, remembered: int = 32) -> None:
        self._held_s: deque[float] = deque(maxlen=remembered)

    def ended(self, held_s: float) -> None:
        """A request has given its place back after so long."""
        self._held_s.append(held_s)

    def wait_s(self, ahead: int, places: int) -> float:
        """Seconds until `ahead` requests have got one of `places`; 0 while nothing is known."""
        if not self._held_s:
            return 0.0
        return sum(self._held_s) / len(self._held_s) * ahead / max(1, places)


def retry_after_s(wait_s: float) -> int:
    """A wait as whole seconds for `Retry-After`, 1 to 120."""
    return min(LONGEST_RETRY_S, max(1, math.ceil(wait_s)))
