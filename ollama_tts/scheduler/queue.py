"""`Waiter`: one request that wants a model, and the future that tells it of its place."""

import asyncio
from dataclasses import dataclass

from ollama_tts.options import LoadOptions
from ollama_tts.scheduler.admission import Claim
from ollama_tts.scheduler.entry import Entry
from ollama_tts.store.model import LocalModel


@dataclass(eq=False, slots=True, kw_only=True)
class Waiter(Claim):
    """One request that wants a model. `granted` gets the entry, with a place taken on it."""

    model: LocalModel
    options: LoadOptions
    keep_alive_s: float | None
    granted: asyncio.Future[Entry]
