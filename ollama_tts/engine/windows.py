"""When to make sound of which tokens, in whole numbers only.

An utterance's sound is given out in chunks at fixed token counts, so the same tokens always give
the same sound, however busy the engine is. A chunk holds back the `look_ahead` newest tokens: the
decoder looks both ways, and sound without what follows it would come out different. Chunks grow:
the first is small, for an early start; later ones are larger, because each costs its context. They
grow so slowly that, where many speak at once and the engine is hardly faster than its listeners,
what was given out lasts until the next chunk is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ollama_tts.engine.step_model import Geometry, Window


@dataclass(frozen=True, slots=True)
class Pace:
    """How one `latency` gives sound out; all counts in tokens.

    `look_ahead`: newest tokens held back (52 is all that the decoder sees: exact). `first`: size
    of the first chunk. `chunks`: sizes of the next ones; the last size stays.
    """

    look_ahead: int
    first: int
    chunks: tuple[int, ...] = (12, 12, 12, 14, 16, 20, 24, 32, 48)


PACES: Mapping[str, Pace] = {
    "low": Pace(look_ahead=8, first=8),
    "balanced": Pace(look_ahead=12, first=12),
    "exact": Pace(look_ahead=52, first=12),
}


class Windows:
    """What is to be rendered of one utterance, as its tokens come.

    `take` gives each window once, in order; together they cover every sample exactly once.
    """

    def __init__(self, pace: Pace, geometry: Geometry) -> None:
        self._pace, self._geometry = pace, geometry
        self._given = 0
        self._chunks = 0
        self._due = pace.first + pace.look_ahead

    def again(self) -> "Windows":
        """The same windows from the beginning, for an utterance that starts anew."""
        return Windows(self._pace, self._geometry)

    def take(self, slot: int, tokens: int, *, ended: bool) -> Window | None:
        """The window to render now that there are `tokens` tokens, or None.

        Called after every token; `ended` says that no more will come. A last window may be empty
        of samples only where the utterance has no tokens.
        """
        if not ended and tokens < self._due:
            return None
        if ended:
            keep_stop = self._geometry.samples(tokens)
        else:
            keep_stop = (self._due - self._pace.look_ahead) * self._geometry.step_samples
            tokens = self._due
        window = self._window(slot, tokens, keep_stop, final=ended)
        self._advance(keep_stop)
        return window

    def _window(self, slot: int, stop: int, keep_stop: int, *, final: bool) -> Window:
        first = self._given // self._geometry.step_samples - self._geometry.context_steps
        return Window(slot, max(0, first), stop, self._given, keep_stop, final)

    def _advance(self, keep_stop: int) -> None:
        self._given = keep_stop
        sizes = self._pace.chunks
        self._due += sizes[min(self._chunks, len(sizes) - 1)]
        self._chunks += 1
