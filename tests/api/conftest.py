"""Live servers for the tests of the wire."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.live import LiveServer, serving, settings_for

JS_CLIENT = "ollama@0.6.4"
SCRIPTS = Path(__file__).parent.parent / "support"


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


@pytest.fixture(scope="session")
def js_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the npm package is installed; kept between runs."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed on this machine")
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("ollama-js") if cache else tmp_path_factory.mktemp("ollama-js")
    if not (folder / "node_modules" / "ollama").is_dir():
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", JS_CLIENT]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"npm cannot fetch {JS_CLIENT} here: {done.stderr[-300:]}")
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, folder / script.name)
    return folder
