"""`Succession`: a model is loaded beside the one whose place it takes, before anyone asks."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from ollama_tts.errors import OllamaTTSError
from ollama_tts.options import LoadOptions, resolve
from ollama_tts.scheduler.entry import Entry
from ollama_tts.scheduler.key import Keys, serves
from ollama_tts.store.model import LocalModel

log = logging.getLogger(__name__)


class Begin(Protocol):
    """Begins a load."""

    def __call__(
        self, key: str, model: LocalModel, options: LoadOptions, keep_alive_s: float
    ) -> Entry:
        """The entry of a model that is loading from now on."""


class Succession:
    """What is in memory that could speak at once, and what shall be.

    Args:
        entries: The scheduler's, read only.
        keys: Gives models their keys.
        begin: Begins a load.
        roomy: Tells whether one more model would disturb nobody.
        forget: Ends the loads that nobody waits for.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        keys: Keys,
        *,
        begin: Begin,
        roomy: Callable[[], bool],
        forget: Callable[[], None],
    ) -> None:
        self._entries = entries
        self._keys = keys
        self._begin = begin
        self._roomy = roomy
        self._forget = forget

    def holds(self, model: LocalModel) -> bool:
        """Whether a request for `model` could speak at once, but for who is before it."""
        return self._holder(model) is not None

    async def prepare(self, old: LocalModel, new: LocalModel) -> None:
        """Have `new` ready where `old` is in memory, to be kept as long.

        Only where there is room for it beside what is loaded, and nothing else is loading. What
        goes wrong is logged; who asks for `new` hears it.
        """
        holder = self._holder(old)
        if holder is None:
            return
        try:
            options = resolve(new.parameters).load
            key = await self._keys.of(new, options)
            if key not in self._entries and self._roomy():
                await self._load(self._begin(key, new, options, holder.keep_alive_s))
            if (entry := self._entries.get(key)) is not None and entry.views is not None:
                await entry.views.of(new)
        except OllamaTTSError as error:
            log.warning("%s could not be loaded in advance: %s", new.name.short, error)

    async def _load(self, entry: Entry) -> None:
        entry.warming = asyncio.Event()
        try:
            await entry.warming.wait()
        finally:
            entry.warming = None
            self._forget()

    def _holder(self, model: LocalModel) -> Entry | None:
        """The loaded model that `model` speaks on, if it is there to stay."""
        there = (e for e in self._entries.values() if e.state == "ready" and serves(e.key, model))
        return next((entry for entry in there if not entry.dead), None)
