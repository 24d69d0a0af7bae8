"""Models that share one loaded base, each with its own adapters; and what is kept of them."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from ollama_tts.backends.base import Memory, Runner
from ollama_tts.errors import InvalidWeights
from ollama_tts.scheduler.key import Kept, key_of, serves
from ollama_tts.scheduler.views import MAX_VIEWS, Views
from ollama_tts.store.model import LocalModel
from tests.support.gated_backend import CountedRunner
from tests.support.local_models import local_model


class Host(CountedRunner):
    """A runner that others speak on; the test says when one is made, and what becomes of it."""

    def __init__(self) -> None:
        super().__init__(1, Memory(1000))
        self.hosted: list[str] = []
        self.guests: list[CountedRunner] = []
        self.go = threading.Event()
        self.go.set()
        self.error: Exception | None = None

    def host(self, model: LocalModel) -> Runner:
        self.go.wait(30)
        self.hosted.append(model.adapters_key)
        if self.error is not None:
            raise self.error
        self.guests.append(CountedRunner(1, Memory(10)))
        return self.guests[-1]


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    made = Host()
    yield made
    for runner in (made, *made.guests):
        await runner.close()


def voice(name: str, adapters: str, **parameters: object) -> LocalModel:
    model = local_model(name, weights_key="base")
    return replace(model, adapters_key=adapters, parameters=parameters)


async def test_each_set_of_adapters_is_made_once_for_all_who_wait_for_it(host: Host) -> None:
    views = Views(host, voice("first", ""))
    assert await views.of(voice("again", "")) is host
    host.go.clear()
    waiting = [asyncio.create_task(views.of(voice(name, "red"))) for name in ("a", "b")]
    await asyncio.sleep(0)
    assert list(views.guests()) == []
    waiting[0].cancel()
    host.go.set()
    runner = await waiting[1]
    assert waiting[0].cancelled()
    assert await views.of(voice("c", "red")) is runner
    assert await views.of(voice("d", "blue")) is not runner
    assert host.hosted == ["red", "blue"]
    assert [model.name.model for model, _ in views.guests()] == ["a", "d"]


async def test_what_failed_is_tried_again_and_what_is_not_wanted_goes(host: Host) -> None:
    views = Views(host, voice("first", ""))
    host.error = InvalidWeights("damaged")
    with pytest.raises(InvalidWeights, match="damaged"):
        await views.of(voice("a", "red"))
    host.error = None
    await views.of(voice("a", "red"))
    await views.of(voice("b", "blue"))
    views.keep(lambda model: model.name.model == "b")
    assert [model.name.model for model, _ in views.guests()] == ["b"]
    assert await views.of(voice("first", "")) is host


async def test_no_more_are_kept_than_there_is_room_for(host: Host) -> None:
    views = Views(host, voice("first", ""))
    for number in range(MAX_VIEWS + 3):
        await views.of(voice("a", str(number)))
    assert len(list(views.guests())) == MAX_VIEWS - 1
    assert await views.of(voice("first", "")) is host


def test_a_key_is_weights_and_how_they_are_loaded_and_adapters_only_where_merged() -> None:
    plain, red = voice("a", ""), voice("b", "red")
    assert key_of(plain, merges=False) == key_of(red, merges=False)
    assert key_of(plain, merges=False) != key_of(red, merges=True)
    assert key_of(plain, merges=False) == key_of(voice("c", "", speed=2.0), merges=False)
    assert key_of(plain, merges=False) != key_of(voice("c", "", num_ctx=64), merges=False)
    assert key_of(plain, merges=False) == key_of(voice("c", "", tone_load_s=3.0), merges=False)
    assert serves(key_of(red, merges=True), red)
    assert not serves(key_of(red, merges=True), plain)
    assert key_of(voice("c", "", num_ctx="damaged"), merges=False)


def test_what_stored_models_speak_on_is_kept() -> None:
    plain, red = voice("a", ""), voice("b", "red")
    kept = Kept([red])
    base = key_of(plain, merges=False)
    assert kept.model(base)
    assert kept.view(base, red)
    assert not kept.view(base, voice("c", "blue"))
    assert kept.model(key_of(red, merges=True))
    assert not Kept([]).model(base)
