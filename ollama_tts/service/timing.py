"""`Listening`: when a listener hears what, from the times that chunks leave."""

from collections.abc import Callable


class Listening:
    """Follows one answer: its first sound, and the gaps a listener would hear.

    `clock` gives seconds and never goes back. A listener starts to play at the first sound and
    plays at its own pace; a chunk that leaves after everything before it was played out is an
    underrun. `counted_as` names the model whose own metrics it counts in; empty: in none.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.started_s = clock()
        self.first_audio_s: float | None = None
        self.underruns = 0
        self.audio_s = 0.0
        self.queued_s = 0.0
        self.load_s = 0.0
        self.counted_as = ""
        self._played_out_s = 0.0

    def leased(self, queued_s: float, load_s: float) -> None:
        """Note how long the request waited for its model, and how long that took to load."""
        self.queued_s = queued_s
        self.load_s = load_s

    def heard(self, duration_s: float) -> bool:
        """Note that sound of this length leaves now. True for the very first of the answer."""
        if duration_s <= 0:
            return False
        now = self._clock()
        first = self.first_audio_s is None
        if first:
            self.first_audio_s = now - self.started_s
            self._played_out_s = now
        elif now > self._played_out_s:
            self.underruns += 1
            self._played_out_s = now
        self._played_out_s += duration_s
        self.audio_s += duration_s
        return first

    def elapsed_s(self) -> float:
        """Seconds since the request came."""
        return self._clock() - self.started_s
