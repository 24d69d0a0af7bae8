"""Servers for the clients: one that is real, and some that fail as scripted."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.live import LiveServer, serving, settings_for
from tests.support.scripted_http import Script, scripting


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One real server with a store of its own; it may use no registry."""
    settings = settings_for(tmp_path_factory.mktemp("store") / "models")
    with serving(replace(settings, registries=("nowhere.invalid",))) as server:
        yield server


@pytest.fixture
def scripted() -> Iterator[Script]:
    """Servers that answer as scripted."""
    with scripting() as start:
        yield start
