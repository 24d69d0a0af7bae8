"""`Floor`: what the engine's thread does in one turn. The batcher decides, the model computes.

One turn: utterances whose deadline passed are ended, free slots are given out, one step is run,
and whatever sound is due is rendered. Out of memory at any point makes room by stopping some
utterances, which start again later; an utterance that fails, fails alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ollama_tts.engine.batcher import Batcher, Entry, Limits
from ollama_tts.engine.step_model import Outcome, StepModel, Window
from ollama_tts.engine.stream import Answer, Mailbox
from ollama_tts.engine.utterance import Finish, Piece
from ollama_tts.engine.windows import Windows
from ollama_tts.errors import DeadlineExceeded, GenerationFailed, OllamaTTSError, OutOfMemory

ATTEMPTS = 3

Clock = Callable[[], float]
Event = tuple[Callable[[Any], None], object]
"""A mailbox's method and what to call it with, in the event loop."""


@dataclass(eq=False, slots=True)
class Speaking:
    """One utterance as the thread sees it; `windows` is None for a job of kind "text".

    `due` is a window waiting to be rendered, `sent` the samples given out, `finish` why no more
    tokens come.
    """

    entry: Entry
    box: Mailbox | Answer
    windows: Windows | None
    due: Window | None = None
    sent: int = 0
    finish: Finish | None = None

    def restart(self) -> None:
        """Begin again: the same windows come, and what was sent is not sent again."""
        if self.windows is not None:
            self.windows = self.windows.again()
        self.due = self.finish = None


class Floor:
    """All utterances of one model and the turn they take; used by the engine's thread alone."""

    def __init__(
        self,
        model: StepModel,
        limits: Limits,
        clock: Clock,
        on_back_off: Callable[[], None] | None = None,
    ) -> None:
        self.batcher = Batcher(limits)
        self.batch_size = 0
        self.tokens = 0
        self._model, self._clock, self._on_back_off = model, clock, on_back_off
        self._geometry = model.geometry
        self._all: dict[Entry, Speaking] = {}
        self._events: list[Event] = []

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._all

    def add(self, speaking: Speaking) -> None:
        """Take an utterance on."""
        self._all[speaking.entry] = speaking
        self.batcher.add(speaking.entry)

    def cancel(self, box: Mailbox | Answer) -> None:
        """Free whatever is done for a reader who left; ended already is fine."""
        for speaking in [s for s in self._all.values() if s.box is box]:
            self._end(speaking)

    def turn(self) -> list[Event]:
        """One step and what it makes audible; what the readers are to be told."""
        now_s = self._clock()
        for entry in self.batcher.overdue(now_s):
            self._fail(self._all[entry], DeadlineExceeded("the deadline passed before the end"))
        for entry in self.batcher.giving_way(now_s):
            self._requeue(self._all[entry])
        for entry in self.batcher.admit(now_s):
            self._start(entry, now_s)
        try:
            if not self._due():
                self._step(now_s)
            self._render()
        except (OutOfMemory, MemoryError):
            self._back_off(now_s)
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """Forget everyone and close the model, which frees its slots."""
        for entry in self._all:
            self.batcher.remove(entry)
        self._all.clear()
        self._model.close()

    def _start(self, entry: Entry, now_s: float) -> None:
        assert entry.slot is not None
        try:
            self._model.start(entry.slot, entry.job, entry.attempt)
        except (OutOfMemory, MemoryError):
            self.batcher.requeue(entry)
            if not self.batcher.running:
                self._fail(self._all[entry], OutOfMemory("no memory for even one utterance"))
            else:
                self.batcher.no_room(now_s)
                self._tell_back_off()

    def _step(self, now_s: float) -> None:
        prefill, decode = self.batcher.plan(now_s)
        slots = [entry.slot for entry in decode if entry.slot is not None]
        self.batch_size = len(prefill) + len(slots)
        if not self.batch_size:
            return
        outcomes = self._model.step(prefill, slots)
        speaking = {s.entry.slot: s for s in self._all.values() if s.entry.slot is not None}
        for chunk in prefill:
            speaking[chunk.slot].entry.read = chunk.stop
        for outcome in outcomes:
            self._hear(speaking[outcome.slot], outcome)

    def _hear(self, speaking: Speaking, outcome: Outcome) -> None:
        entry = speaking.entry
        if outcome.kind == "failed":
            self._fail(speaking, GenerationFailed("the model's numbers were not finite"))
            return
        if outcome.kind == "token":
            entry.tokens += 1
            self.tokens += 1
            speaking.finish = "length" if entry.tokens >= entry.job.max_tokens else None
        elif entry.tokens == 0 and speaking.windows is not None:
            self._try_again(speaking)
            return
        else:
            speaking.finish = "stop"
        self._look(speaking)

    def _look(self, speaking: Speaking) -> None:
        """See what the tokens so far make audible."""
        slot, ended = speaking.entry.slot, speaking.finish is not None
        assert slot is not None
        if speaking.windows is not None:
            speaking.due = speaking.windows.take(slot, speaking.entry.tokens, ended=ended)
        elif ended:
            self._tell(speaking, self._model.text(slot))
            self._end(speaking)

    def _try_again(self, speaking: Speaking) -> None:
        """The end token came at once: other random numbers may help, a few times."""
        speaking.entry.attempt += 1
        if speaking.entry.attempt >= ATTEMPTS:
            message = f"the model ended at once, {ATTEMPTS} times"
            self._fail(speaking, GenerationFailed(message))
        else:
            self._requeue(speaking)

    def _due(self) -> list[Speaking]:
        return [s for e in self.batcher.running if (s := self._all[e]).due is not None]

    def _render(self) -> None:
        due = self._due()
        windows = [s.due for s in due if s.due is not None]
        if not windows:
            return
        sounds = self._model.render(windows)
        for speaking, window, sound in zip(due, windows, sounds, strict=True):
            speaking.due = None
            if np.isfinite(sound).all():
                self._send(speaking, window, sound)
            else:
                self._fail(speaking, GenerationFailed("the decoder's numbers were not finite"))

    def _send(self, speaking: Speaking, window: Window, sound: NDArray[np.float32]) -> None:
        """Give out what of a window was not given out before a restart."""
        start = max(window.keep_start, speaking.sent)
        fresh = sound[start - window.keep_start :]
        if len(fresh) or window.final:
            steps = self._geometry.steps(window.keep_stop) - self._geometry.steps(start)
            self._tell(speaking, Piece(fresh, steps, speaking.finish if window.final else None))
            speaking.sent = start + len(fresh)
            seconds = len(fresh) / self._geometry.sample_rate_hz
            self.batcher.sent(speaking.entry, seconds, self._clock())
        if window.final:
            self._end(speaking)

    def _back_off(self, now_s: float) -> None:
        victims = self.batcher.back_off(now_s)
        self._tell_back_off()
        for entry in victims:
            self._requeue(self._all[entry])
        if not victims:
            for entry in list(self.batcher.running):
                self._fail(self._all[entry], OutOfMemory("no memory for even one utterance"))

    def _requeue(self, speaking: Speaking) -> None:
        self._model.stop(self.batcher.requeue(speaking.entry))
        speaking.restart()

    def _fail(self, speaking: Speaking, error: OllamaTTSError) -> None:
        self._events.append((speaking.box.fail, error))
        self._end(speaking)

    def _end(self, speaking: Speaking) -> None:
        slot = self.batcher.remove(speaking.entry)
        del self._all[speaking.entry]
        if slot is not None:
            self._model.stop(slot)

    def _tell(self, speaking: Speaking, what: Piece | list[int]) -> None:
        self._events.append((speaking.box.put, what))

    def _tell_back_off(self) -> None:
        if self._on_back_off is not None:
            self._on_back_off()
