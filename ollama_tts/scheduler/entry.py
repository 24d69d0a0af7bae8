"""`Entry`: one model in memory, or on its way in or out."""

import asyncio
import math
from dataclasses import dataclass, field, replace
from typing import Literal

from ollama_tts.backends.base import Runner
from ollama_tts.options import LoadOptions
from ollama_tts.scheduler.admission import Claim
from ollama_tts.scheduler.clock import Timer
from ollama_tts.scheduler.drain import DrainRate
from ollama_tts.scheduler.views import Views
from ollama_tts.store.model import LocalModel

State = Literal["loading", "ready", "closing"]


@dataclass(eq=False, slots=True, kw_only=True)
class Entry:
    """One model in memory.

    `key` is what those that share it have in common (`key_of`), `model` the one that had it
    loaded, as it is now, `views` what each of them speaks on once it is ready. `speaking`
    are the requests that speak on it, of about `slots` at most (`admission.places`); `drain` is
    how fast they have been going. `keep_alive_s` is how long it stays
    when nobody does (inf: for ever). `expires_at_s` is set while that runs. `dead`: its engine
    has ended, nobody gets it any more. `warming` is set once its load has ended, where somebody
    waits for that alone.
    """

    key: str
    model: LocalModel
    options: LoadOptions
    keep_alive_s: float
    began_s: float
    state: State = "loading"
    runner: Runner | None = None
    views: Views | None = None
    slots: int = 0
    speaking: list[Claim] = field(default_factory=list)
    drain: DrainRate = field(default_factory=DrainRate)
    dead: bool = False
    ready_s: float = math.inf
    expires_at_s: float | None = None
    timer: Timer | None = None
    warming: asyncio.Event | None = None
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def leases(self) -> int:
        """How many requests speak on it."""
        return len(self.speaking)

    @property
    def idle(self) -> bool:
        """Loaded, and nobody speaks on it."""
        return self.state == "ready" and self.leases == 0

    def fits(self, options: LoadOptions) -> bool:
        """Whether a request with these options can speak on it (now or when it is loaded)."""
        return self.state != "closing" and not self.dead and same_load(self.options, options)

    def follow(self, model: LocalModel) -> None:
        """A model is about to speak on it; it may be what its own name means by now."""
        if model.name == self.model.name and model.modified_at >= self.model.modified_at:
            self.model = model

    def warmed(self) -> None:
        """Its load has ended, in whatever way."""
        if self.warming is not None:
            self.warming.set()

    def stop_timer(self) -> None:
        """Call the running timer off, if there is one."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None
        self.expires_at_s = None


def same_load(loaded: LoadOptions, wanted: LoadOptions) -> bool:
    """Whether a model loaded with `loaded` serves a request for `wanted` without a reload.

    As in Ollama a negative `num_gpu` accepts what there is. How long a load pretended to take
    (`tone_load_s`) is no property of what was loaded.
    """
    num_gpu = loaded.num_gpu if wanted.num_gpu < 0 else wanted.num_gpu
    return loaded == replace(wanted, num_gpu=num_gpu, tone_load_s=loaded.tone_load_s)
