"""`Swaps`: a name is given another model while its old one is in memory, and nobody waits.

Until the new weights are in memory the name goes on meaning the old ones, which are there; then all
new requests speak on the new ones, those that run end on the old ones, and these are let go.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from ollama_tts.errors import NotFound, StoreFailed
from ollama_tts.names import ModelName
from ollama_tts.scheduler import Scheduler
from ollama_tts.store.blobs import settled
from ollama_tts.store.model import LocalModel
from ollama_tts.store.store import Store

T = TypeVar("T")
Folded = tuple[str, str, str, str]


class Swaps:
    """Every change of what a name means goes through here."""

    def __init__(self, store: Store, scheduler: Scheduler) -> None:
        self._store = store
        self._scheduler = scheduler
        self._old: dict[Folded, LocalModel] = {}

    def still(self, name: ModelName) -> LocalModel | None:
        """What requests for `name` are spoken on although it has a new model by now, or None."""
        old = self._old.get(name.folded)
        return old if old is not None and self._scheduler.succession.holds(old) else None

    async def change(self, name: ModelName, write: Callable[[], T]) -> T:
        """Let `write` give `name` another model, in a thread; returns what it gives.

        Returns when new requests get the new model. Where that cannot be loaded beside what is in
        memory, because there is no room or it does not load, they get it at once and wait for it,
        or hear why.
        """
        old = await asyncio.to_thread(self._stored, name)
        if old is None or not self._scheduler.succession.holds(old):
            made = await settled(write)
        else:
            made = await self._under(name, old, write)
        await self.let_go()
        return made

    async def let_go(self) -> None:
        """Give back the memory of all that no stored model is any more."""
        await self._scheduler.keep_only(await asyncio.to_thread(self._store.list))

    async def _under(self, name: ModelName, old: LocalModel, write: Callable[[], T]) -> T:
        """Write, and load what was written, while requests get `old`."""
        self._old[name.folded] = old
        try:
            made = await settled(write)
            new = await asyncio.to_thread(self._stored, name)
            if new is not None and new.digest != old.digest:
                await self._scheduler.succession.prepare(old, new)
            return made
        finally:
            if self._old.get(name.folded) is old:
                del self._old[name.folded]

    def _stored(self, name: ModelName) -> LocalModel | None:
        try:
            return self._store.get(name)
        except (NotFound, StoreFailed):
            return None
