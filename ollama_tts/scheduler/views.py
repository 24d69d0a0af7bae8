"""`Views`: one loaded model as the models that share it see it, each with its own adapters."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ollama_tts.backends.base import Hosting, Runner
from ollama_tts.store.model import LocalModel

MAX_VIEWS = 64
"""Sets of adapters kept ready; the one that was asked for longest ago goes first."""


@dataclass(eq=False, slots=True)
class View:
    """What models with one set of adapters speak on. `model` is one of them, as it is now."""

    model: LocalModel
    runner: asyncio.Future[Runner]

    @property
    def ready(self) -> Runner | None:
        """What they speak on, once it is made."""
        done = self.runner.done() and not self.runner.cancelled()
        return self.runner.result() if done and self.runner.exception() is None else None


class Views:
    """The views of one loaded model. `runner` was loaded for `first`, whose view is kept."""

    def __init__(self, runner: Runner, first: LocalModel) -> None:
        self._runner = runner
        self._first = first.adapters_key
        self._views: OrderedDict[str, View] = OrderedDict()
        ready: asyncio.Future[Runner] = asyncio.get_running_loop().create_future()
        ready.set_result(runner)
        self._views[self._first] = View(first, ready)

    async def of(self, model: LocalModel) -> Runner:
        """The runner that speaks with the adapters of `model`; the first time it is made.

        Who waits for the same adapters waits for one making; one that failed is tried again.

        Raises:
            InvalidWeights: An adapter is damaged, or for another model.
            OutOfMemory: There is no room for it.
        """
        if not isinstance(self._runner, Hosting):
            return self._runner
        key = model.adapters_key
        if key not in self._views:
            self._views[key] = self._make(self._runner, model)
        view = self._views[key]
        if view.model.name == model.name and model.modified_at >= view.model.modified_at:
            view.model = model
        self._views.move_to_end(key)
        self._forget_oldest()
        return await asyncio.shield(view.runner)

    def guests(self) -> Iterator[tuple[LocalModel, Runner]]:
        """Each other model with adapters of its own, and what it adds to the first one's."""
        for key, view in self._views.items():
            if key != self._first and (runner := view.ready) is not None:
                yield view.model, runner

    def keep(self, wanted: Callable[[LocalModel], bool]) -> None:
        """Forget the views of models that are not wanted; who speaks on one ends on it."""
        for key, view in list(self._views.items()):
            if key != self._first and not wanted(view.model):
                del self._views[key]

    def _make(self, runner: Hosting, model: LocalModel) -> View:
        making = asyncio.get_running_loop().create_task(asyncio.to_thread(runner.host, model))
        making.add_done_callback(lambda made: self._made(model.adapters_key, made))
        return View(model, making)

    def _made(self, key: str, made: asyncio.Future[Runner]) -> None:
        failed = made.cancelled() or made.exception() is not None
        if failed and key in self._views and self._views[key].runner is made:
            del self._views[key]

    def _forget_oldest(self) -> None:
        while len(self._views) > MAX_VIEWS:
            oldest = next(key for key in self._views if key != self._first)
            del self._views[oldest]
