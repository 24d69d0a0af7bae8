"""`Rates`: so many requests a minute of each caller, and no more."""

import math
from collections.abc import Callable

from ollama_tts.errors import TooMany

WINDOW_S = 60.0
_FEW = 1024


class Rates:
    """One allowance a caller: `per_minute` at once, and then as fast as they come back.

    `per_minute` 0 allows everything. `clock` is monotonic, in seconds.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._free_s: dict[str, float] = {}
        self._look_at = _FEW

    def __len__(self) -> int:
        return len(self._free_s)

    def take(self, client: str) -> None:
        """Count one request of `client`.

        Raises:
            TooMany: It has none left; the text names the limit, `retry_after_s` when it has.
        """
        if not self._per_minute:
            return
        now_s = self._clock()
        free_s = max(self._free_s.get(client, now_s), now_s) + WINDOW_S / self._per_minute
        over_s = free_s - now_s - WINDOW_S
        if over_s > 1e-6:
            raise TooMany(
                f"more than {self._per_minute} requests a minute (OLLAMA_TTS_RATE_LIMIT)",
                math.ceil(over_s),
            )
        self._free_s[client] = free_s
        self._forget(now_s)

    def _forget(self, now_s: float) -> None:
        """Drop the accounts that are full again, whenever their number has doubled."""
        if len(self._free_s) < self._look_at:
            return
        self._free_s = {client: at_s for client, at_s in self._free_s.items() if at_s > now_s}
        self._look_at = max(_FEW, 2 * len(self._free_s))
