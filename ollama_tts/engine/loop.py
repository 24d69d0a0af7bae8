"""`Engine`: one thread that runs one model for many utterances at once.

Two one-way roads and nothing shared. In: commands through a queue, emptied before each step; an
idle engine sleeps on it. Out: one `call_soon_threadsafe` a step, for all utterances together.
"""

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from ollama_tts.engine.batcher import Entry, Limits
from ollama_tts.engine.speaking import Clock, Event, Floor, Speaking
from ollama_tts.engine.step_model import Job, StepModel
from ollama_tts.engine.stream import Answer, Mailbox
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.engine.windows import PACES, Windows
from ollama_tts.errors import EngineDead

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineStats:
    """What an engine is doing: a snapshot, replaced after each turn.

    `batch_size` is the number of utterances in the last step, `limit` the most there may be now,
    `back_offs` how often memory ran out, `tokens` all tokens made so far.
    """

    waiting: int = 0
    running: int = 0
    batch_size: int = 0
    limit: int = 0
    back_offs: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class _Cancel:
    box: Mailbox | Answer


class _Stop:
    pass


class Engine:
    """Speaks utterances with a model that it owns and closes.

    Belongs to the event loop that first uses it. `clock` gives monotonic seconds.

    Args:
        model: The loaded model; only the engine's thread touches it from now on.
        name: Names the thread.
        limits: How much at once; as many utterances as the model has slots by default.
        clock: Gives the time.
        on_back_off: Called in the engine's thread whenever memory ran out.
    """

    def __init__(
        self,
        model: StepModel,
        *,
        name: str = "model",
        limits: Limits | None = None,
        clock: Clock = time.monotonic,
        on_back_off: Callable[[], None] | None = None,
    ) -> None:
        self._geometry = model.geometry
        self._floor = Floor(model, limits or Limits(self._geometry.slots), clock, on_back_off)
        self._clock = clock
        self._inbox: queue.SimpleQueue[Speaking | _Cancel | _Stop] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._boxes: set[Mailbox | Answer] = set()
        self._submitted = 0
        self._dead: EngineDead | None = None
        self.stats = EngineStats()
        self._thread = threading.Thread(target=self._run, name=f"engine-{name}", daemon=True)
        self._thread.start()

    async def speak(self, job: Job, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The sound of one utterance, piece by piece; the last has `finish`.

        A late reader gets pieces joined. Closing the generator frees the work within a step.

        Raises:
            OutOfMemory: Not even alone.
            DeadlineExceeded: `utterance.deadline_s` passed.
            GenerationFailed: This utterance failed; others did not.
            EngineDead: The thread has ended, or the engine was closed.
        """
        box = Mailbox()
        windows = Windows(PACES[utterance.options.latency], self._geometry)
        self._submit(Speaking(self._entry(job, utterance), box, windows))
        try:
            async with contextlib.aclosing(box.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._leave(box)

    async def write(self, job: Job, utterance: Utterance) -> list[int]:
        """The ids that a job of kind "text" draws, without the end token.

        Raises:
            OllamaTTSError: As for `speak`.
        """
        box = Answer()
        self._submit(Speaking(self._entry(job, utterance), box, None))
        try:
            return await box.ids()
        finally:
            self._leave(box)

    async def close(self) -> None:
        """End the thread and wait for it; running utterances fail with EngineDead. Repeatable."""
        self._die(EngineDead("the model was unloaded while it spoke"))
        self._inbox.put(_Stop())
        await asyncio.to_thread(self._thread.join)

    def _entry(self, job: Job, utterance: Utterance) -> Entry:
        self._submitted += 1
        return Entry(
            job,
            age=self._submitted,
            since_s=self._clock(),
            request=utterance.request_id or f"#{self._submitted}",
            index=utterance.index,
            priority=utterance.options.priority,
            deadline_s=utterance.deadline_s,
        )

    def _submit(self, speaking: Speaking) -> None:
        if self._dead is not None:
            raise EngineDead(str(self._dead))
        self._loop = self._loop or asyncio.get_running_loop()
        self._boxes.add(speaking.box)
        self._inbox.put(speaking)

    def _leave(self, box: Mailbox | Answer) -> None:
        self._boxes.discard(box)
        if box.leave():
            self._inbox.put(_Cancel(box))

    def _die(self, error: EngineDead) -> None:
        self._dead = self._dead or error
        for box in self._boxes:
            box.fail(EngineDead(str(self._dead)))

    # the thread's side

    def _run(self) -> None:
        try:
            while self._take():
                events = self._floor.turn()
                self._count()
                self._post(events)
        except BaseException as error:
            log.exception("the engine's thread ended")
            self._post([(self._die, EngineDead(f"the model's engine broke: {error!r}"))])
        finally:
            self._floor.close()
            self._count()

    def _take(self) -> bool:
        """Work in the inbox until there is something to do; False when it is time to stop."""
        while self._floor.idle or not self._inbox.empty():
            command = self._inbox.get()
            if isinstance(command, _Stop):
                return False
            if isinstance(command, _Cancel):
                self._floor.cancel(command.box)
                self._count()
            else:
                self._floor.add(command)
        return True

    def _count(self) -> None:
        floor, batcher = self._floor, self._floor.batcher
        self.stats = EngineStats(
            waiting=len(batcher.waiting),
            running=len(batcher.running),
            batch_size=floor.batch_size,
            limit=batcher.limit,
            back_offs=batcher.back_offs,
            tokens=floor.tokens,
        )

    def _post(self, events: list[Event]) -> None:
        if events:
            assert self._loop is not None
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody listens
                self._loop.call_soon_threadsafe(_deliver, events)


def _deliver(events: list[Event]) -> None:
    for receive, what in events:
        receive(what)
