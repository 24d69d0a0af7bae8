"""`Worker`: one thread that makes the sound of many utterances, a piece at a time.

For voices that make one utterance at a time. Two one-way roads and nothing shared: commands go
to the thread through a queue, pieces come back through `call_soon_threadsafe`. Before each piece
the thread chooses whose it is: an utterance whose request has heard nothing comes first, then
priority, then age. Leaving an utterance frees it before the next piece.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, field
from typing import TypeVar

from ollama_tts.engine.stream import Mailbox
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.errors import EngineDead, GenerationFailed, OllamaTTSError, OutOfMemory

T = TypeVar("T")
Say = Callable[[Utterance], Generator[Piece, None, None]]


@dataclass(eq=False, slots=True)
class _Job:
    """An utterance as the thread sees it. `order` is its age."""

    order: int
    utterance: Utterance
    stream: Mailbox
    heard: bool
    pieces: Generator[Piece, None, None] | None = None

    @property
    def urgency(self) -> tuple[bool, int, int]:
        return self.heard, -self.utterance.options.priority, self.order


@dataclass(frozen=True, slots=True)
class _Drop:
    stream: Mailbox


class _Stop:
    pass


@dataclass(slots=True)
class _Bench:
    """What lies before the thread: the utterances that it has taken on, in no order."""

    jobs: list[_Job] = field(default_factory=list)

    def drop(self, stream: Mailbox) -> None:
        for job in [job for job in self.jobs if job.stream is stream]:
            self.remove(job)

    def remove(self, job: _Job) -> None:
        self.jobs.remove(job)
        if job.pieces is not None:
            job.pieces.close()


class Worker:
    """Speaks utterances in one thread; belongs to the event loop that first uses it.

    `say` gives an utterance's pieces in order, the last with `finish`; it is only ever run in the
    worker's thread, and closed there when the utterance is left.
    """

    def __init__(self, say: Say, name: str = "voice") -> None:
        self._say = say
        self._inbox: queue.SimpleQueue[_Job | _Drop | _Stop] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._streams: set[Mailbox] = set()
        self._submitted = 0
        self._dead: EngineDead | None = None
        self._thread = threading.Thread(target=self._run, name=f"worker-{name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> int:
        """Utterances taken on and not yet ended."""
        return sum(not stream.ended for stream in self._streams)

    async def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The pieces of one utterance, in order; the last has `finish`. Closing it frees the work.

        Raises:
            OllamaTTSError: Whatever `say` raised on purpose.
            OutOfMemory: `say` ran out of memory.
            GenerationFailed: `say` failed in another way, or gave no last piece.
            EngineDead: The thread has ended, or the worker was closed.
        """
        if self._dead is not None:
            raise EngineDead(str(self._dead))
        self._loop = self._loop or asyncio.get_running_loop()
        stream = Mailbox()
        self._streams.add(stream)
        self._submitted += 1
        self._inbox.put(_Job(self._submitted, utterance, stream, heard=utterance.index > 0))
        try:
            async with contextlib.aclosing(stream.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._streams.discard(stream)
            if stream.leave():
                self._inbox.put(_Drop(stream))

    async def close(self) -> None:
        """End the thread and wait for it; running utterances fail with EngineDead. Repeatable."""
        self._die(EngineDead("the model was unloaded while it spoke"))
        self._inbox.put(_Stop())
        await asyncio.to_thread(self._thread.join)

    def _die(self, error: EngineDead) -> None:
        self._dead = self._dead or error
        for stream in self._streams:
            stream.fail(EngineDead(str(self._dead)))

    # the thread's side

    def _run(self) -> None:
        bench = _Bench()
        try:
            while self._take(bench):
                self._step(bench, min(bench.jobs, key=lambda job: job.urgency))
        except BaseException as error:  # noqa: BLE001  # the thread's end: all who wait must hear
            self._post(self._die, EngineDead(f"the voice's thread ended: {error!r}"))
        finally:
            for job in list(bench.jobs):
                with contextlib.suppress(BaseException):
                    bench.remove(job)

    def _take(self, bench: _Bench) -> bool:
        """Work in the inbox until there is something to say; False when it is time to stop."""
        while not bench.jobs or not self._inbox.empty():
            command = self._inbox.get()
            if isinstance(command, _Stop):
                return False
            if isinstance(command, _Drop):
                bench.drop(command.stream)
            else:
                bench.jobs.append(command)
        return True

    def _step(self, bench: _Bench, job: _Job) -> None:
        """Make one piece of `job` and send it, or the reason why there is none."""
        try:
            if job.pieces is None:
                job.pieces = self._say(job.utterance)
            piece = next(job.pieces, None)
        except EngineDead:
            raise
        except OllamaTTSError as error:
            self._fail(bench, job, error)
        except MemoryError:
            self._fail(bench, job, OutOfMemory("no memory for this utterance"))
        except Exception as error:  # noqa: BLE001  # an utterance's failure is its own
            self._fail(bench, job, GenerationFailed(f"speaking failed: {error!r}"))
        else:
            self._send(bench, job, piece)

    def _send(self, bench: _Bench, job: _Job, piece: Piece | None) -> None:
        if piece is None:
            self._fail(bench, job, GenerationFailed("the sound ended without its last piece"))
            return
        job.heard = True
        if piece.finish is not None:
            bench.remove(job)
        self._post(job.stream.put, piece)

    def _fail(self, bench: _Bench, job: _Job, error: OllamaTTSError) -> None:
        bench.jobs.remove(job)
        self._post(job.stream.fail, error)

    def _post(self, deliver: Callable[[T], None], what: T) -> None:
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody listens any more
            self._loop.call_soon_threadsafe(deliver, what)
