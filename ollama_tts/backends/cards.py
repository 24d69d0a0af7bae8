"""`Cards`: what the graphics cards of this machine say of their memory and work, by NVML."""

import asyncio
import importlib
import logging
from types import ModuleType
from typing import Protocol

from ollama_tts.metrics import Card

log = logging.getLogger(__name__)

PATIENCE_S = 2.0
"""So long a scrape waits for a driver; one that hangs costs the gauges, not the scrape."""


class Reader(Protocol):
    """Reads all cards; may block."""

    def read(self) -> tuple[Card, ...]:
        """The cards as they are now; none where there is none, or none that can be read."""


class Cards:
    """The cards as they were last seen. Belongs to an event loop."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._looking: asyncio.Task[tuple[Card, ...]] | None = None
        self.seen: tuple[Card, ...] = ()

    async def look(self) -> None:
        """Read them anew in a thread; whoever comes meanwhile waits for the same look."""
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = asyncio.create_task(asyncio.to_thread(self._reader.read))
        done, _ = await asyncio.wait({looking}, timeout=PATIENCE_S)
        self.seen = looking.result() if done else ()


class Nvml:
    """All cards that NVML lists, whoever uses them; indices are NVML's.

    `module` is the package nvidia-ml-py (extra `gpu`), None where it is not installed. A missing
    library or driver is logged once and means that there are no cards.
    """

    def __init__(self, module: ModuleType | None) -> None:
        self._nvml = module
        self._started = False
        self._told = False

    def read(self) -> tuple[Card, ...]:
        """See `Reader.read`."""
        nvml = self._nvml
        if nvml is None:
            return ()
        try:
            self._start(nvml)
            count = nvml.nvmlDeviceGetCount()
        except nvml.NVMLError as error:
            self._tell(error)
            return ()
        found = (self._card(nvml, index) for index in range(count))
        return tuple(card for card in found if card is not None)

    def _start(self, nvml: ModuleType) -> None:
        if not self._started:
            nvml.nvmlInit()
            self._started = True

    def _card(self, nvml: ModuleType, index: int) -> Card | None:
        """One card; None where it has fallen off the bus or is another's."""
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        except nvml.NVMLError as error:
            self._tell(error)
            return None
        try:
            share = nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
        except nvml.NVMLError:  # cards that are split do not tell
            share = None
        return Card(index, int(memory.free), int(memory.total), share)

    def _tell(self, error: Exception) -> None:
        if not self._told:
            log.info("no figures of graphics cards: %s", error)
        self._told = True


def nvml() -> Nvml:
    """A reader on this machine's NVML, whether or not it is there."""
    try:
        return Nvml(importlib.import_module("pynvml"))
    except ImportError:
        return Nvml(None)
