"""A live node with an open Wyoming door."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ollama_tts.config import Address
from ollama_tts.server.doors import Doors
from tests.support.live import LiveServer, serving, settings_for


@dataclass(frozen=True)
class Wyoming:
    """An open door and the server behind it."""

    live: LiveServer
    doors: Doors

    @property
    def address(self) -> Address:
        return self.doors.open["wyoming"].address

    async def drain(self) -> None:
        """As on SIGTERM."""
        self.doors.drain()


@contextmanager
def open_wyoming(models_dir: Path, **settings: object) -> Iterator[Wyoming]:
    given = replace(
        settings_for(models_dir),
        wyoming_address=Address("127.0.0.1", 0),
        **settings,  # type: ignore[arg-type]  # names and types are the settings'
    )
    with serving(given) as live:
        doors = live.run(lambda: _enter(live))
        try:
            yield Wyoming(live, doors)
        finally:
            live.run(lambda: _leave(doors))


async def _enter(live: LiveServer) -> Doors:
    return await Doors(live.node).__aenter__()


async def _leave(doors: Doors) -> None:
    doors.drain(now=True)
    await doors.__aexit__(None, None, None)


@pytest.fixture(scope="session")
def wyoming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wyoming]:
    """One door for all tests that only ask; its default model is `tone`."""
    with open_wyoming(tmp_path_factory.mktemp("wyoming") / "models", default_model="tone") as door:
        yield door


@pytest.fixture
def own_wyoming(tmp_path: Path) -> Iterator[Wyoming]:
    """A door of the test's own; its default model is `tone`."""
    with open_wyoming(tmp_path / "models", default_model="tone") as door:
        yield door
