"""Live servers for the tests of the wire."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.live import LiveServer, serving, settings_for


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveServer]:
    """A server of the test's own, for tests that change or count what it holds."""
    with serving(settings_for(tmp_path / "models")) as server:
        yield server


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server for all tests that only ask."""
    with serving(settings_for(tmp_path_factory.mktemp("shared") / "models")) as server:
        yield server


@pytest.fixture
def http(shared: LiveServer) -> Iterator[httpx.Client]:
    """Plain HTTP to the shared server."""
    with httpx.Client(base_url=shared.url, timeout=60) as client:
        yield client


@pytest.fixture
def own_http(live: LiveServer) -> Iterator[httpx.Client]:
    """Plain HTTP to the test's own server."""
    with httpx.Client(base_url=live.url, timeout=60) as client:
        yield client
