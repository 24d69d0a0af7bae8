"""A live node with an open gRPC door, and channels to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from ollama_tts.config import Address
from ollama_tts.server.doors import Doors
from tests.support.live import LiveServer, serving, settings_for
from tests.support.rpc import Rpc


@contextmanager
def open_rpc(models_dir: Path, **settings: object) -> Iterator[Rpc]:
    given = replace(
        settings_for(models_dir),
        grpc_address=Address("127.0.0.1", 0),
        **settings,  # type: ignore[arg-type]  # names and types are the settings'
    )
    with serving(given) as live:
        doors = live.run(lambda: _enter(live))
        try:
            with grpc.insecure_channel(f"127.0.0.1:{doors.open['grpc'].address.port}") as channel:
                yield Rpc(live, doors, channel)
        finally:
            live.run(lambda: _leave(doors))


async def _enter(live: LiveServer) -> Doors:
    return await Doors(live.node).__aenter__()


async def _leave(doors: Doors) -> None:
    doors.drain(now=True)
    await doors.__aexit__(None, None, None)


@pytest.fixture(scope="session")
def rpc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rpc]:
    """One door for all tests that only ask."""
    with open_rpc(tmp_path_factory.mktemp("rpc") / "models") as rpc:
        yield rpc


@pytest.fixture
def own_rpc(tmp_path: Path) -> Iterator[Rpc]:
    """A door of the test's own."""
    with open_rpc(tmp_path / "models") as rpc:
        yield rpc
