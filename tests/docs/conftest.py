"""One live server for all documents."""

from collections.abc import Iterator

import pytest

from tests.support.live import LiveServer, serving, settings_for


@pytest.fixture(scope="session")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """The server that the documents talk to."""
    with serving(settings_for(tmp_path_factory.mktemp("documented") / "models")) as server:
        yield server
