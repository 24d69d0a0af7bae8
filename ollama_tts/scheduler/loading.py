"""`Load`: one load in a thread of its own. Whoever gave up on it does not wait for it."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

from ollama_tts.backends.base import Backend, Interruptible, Runner
from ollama_tts.errors import LoadFailed, OllamaTTSError, OutOfMemory
from ollama_tts.options import LoadOptions
from ollama_tts.store.model import LocalModel

Outcome = Runner | OllamaTTSError


class Backends(Protocol):
    """Where backends come from (`backends.catalog.Catalog`)."""

    def backend(self, model_format: str) -> Backend:
        """The backend of a format; slow at first, it imports the backend's code."""


class Load:
    """Starts at once. `done` is called on the event loop, once, with a runner or an error.

    The thread is a daemon's, not an executor's: a load that hangs must not hold up the exit.
    """

    def __init__(
        self,
        backends: Backends,
        model: LocalModel,
        options: LoadOptions,
        done: Callable[["Load", Outcome], None],
    ) -> None:
        self.model = model
        self._backends = backends
        self._options = options
        self._done = done
        self._stop = threading.Event()
        self._loop = asyncio.get_running_loop()
        name = f"load-{model.config.model_format}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def given_up(self) -> bool:
        """Whether nobody wants it any more."""
        return self._stop.is_set()

    def give_up(self) -> None:
        """Nobody wants it any more; backends that can end it early."""
        self._stop.set()

    def _run(self) -> None:
        outcome = self._outcome()
        with contextlib.suppress(RuntimeError):  # the loop was closed: the process ends
            self._loop.call_soon_threadsafe(self._done, self, outcome)

    def _outcome(self) -> Outcome:
        try:
            backend = self._backends.backend(self.model.config.model_format)
            if isinstance(backend, Interruptible):
                return backend.load_until(self.model, self._options, self._stop)
            return backend.load(self.model, self._options)
        except OllamaTTSError as error:
            return error
        except MemoryError:
            return OutOfMemory(f"no memory to load {self.model.name.short}")
        except Exception as error:  # noqa: BLE001  # the thread's end: the waiting must hear
            return LoadFailed(f"loading {self.model.name.short} failed: {error!r}")
