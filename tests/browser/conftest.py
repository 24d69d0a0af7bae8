"""One browser and one server for the tests that look at the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.support.chromium import chromium, in_every_page, missing
from tests.support.live import LiveServer, serving, settings_for

LISTENING = Path(__file__).parents[1] / "support" / "listening.js"


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def chrome(downloads: Path) -> Iterator[Chrome]:
    """The browser; a skip with the reason where there is none."""
    if reason := missing():
        pytest.skip(reason)
    with chromium(downloads) as browser, in_every_page(browser, LISTENING.read_text("utf-8")):
        yield browser


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server for the tests of one file."""
    with serving(settings_for(tmp_path_factory.mktemp("browser") / "models")) as server:
        yield server
