"""Pull and push over HTTP, as unmodified clients ask for them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import ollama
import pytest

from tests.registry.conftest import Registered
from tests.support.live import LiveServer, serving, settings_for
from tests.support.loopback import Answer, Fault
from tests.support.registry import FakeRegistry

CONFIG = b'{"model_format":"tone"}'
WEIGHTS = b"weights" * 50_000


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with serving(settings_for(tmp_path_factory.mktemp("live") / "models")) as server:
        yield server


@pytest.fixture
def name(registry: FakeRegistry, request: pytest.FixtureRequest) -> str:
    """A model that the live server's store knows nothing of."""
    weights = WEIGHTS + request.node.name.encode()
    registry.put("ns/m", "v1", {"a.safetensors": weights}, CONFIG)
    return f"{registry.host}/ns/m:v1"


def test_the_python_client_pulls_and_pushes(
    live: LiveServer, registry: FakeRegistry, name: str, registered: Registered
) -> None:
    with ollama.Client(live.url) as client:
        _pull_and_push(client, registry, name, registered())


def _pull_and_push(
    client: ollama.Client, registry: FakeRegistry, name: str, other: FakeRegistry
) -> None:
    steps = list(client.pull(name, insecure=True, stream=True))
    assert (steps[0].status, steps[-1].status) == ("pulling manifest", "success")
    assert max(step.completed or 0 for step in steps) > len(WEIGHTS)
    client.copy(name, f"{other.host}/ns/m:v1")
    assert client.push(f"{other.host}/ns/m:v1", insecure=True).status == "success"
    assert other.manifests == registry.manifests
    assert client.pull(name, insecure=True).status == "success"
    client.delete(name)


@pytest.mark.parametrize("stream", [True, False])
def test_a_model_that_no_registry_has(
    live: LiveServer, registry: FakeRegistry, stream: bool
) -> None:
    asked = {"model": f"{registry.host}/ns/nope", "insecure": True, "stream": stream}
    answer = httpx.post(f"{live.url}/api/pull", json=asked)
    text = f"pull model manifest: file does not exist: {registry.host} has no ns/nope:latest"
    assert answer.status_code == (200 if stream else 404)
    assert json.loads(answer.text.splitlines()[-1]) == {"error": text}


def test_hostile_redirects_end_in_an_error_line(
    live: LiveServer, registry: FakeRegistry, name: str
) -> None:
    moved = Answer(307, b"", {"Location": f"http://169.254.169.254:{registry.port}/latest"})
    registry.faults.append(Fault("/blobs/", times=100, answer=moved))
    asked = {"model": name, "insecure": True}
    answer = httpx.post(f"{live.url}/api/pull", json=asked)
    assert "169.254.169.254 is not at a public address" in answer.text.splitlines()[-1]
    shown = httpx.post(f"{live.url}/api/show", json={"model": name})
    assert shown.status_code == 404


def test_a_client_that_leaves_ends_the_download(
    live: LiveServer, registry: FakeRegistry, name: str
) -> None:
    registry.faults.append(Fault("/blobs/", times=100, stall_at=1000))
    asked = {"model": name, "insecure": True}
    with httpx.stream("POST", f"{live.url}/api/pull", json=asked, timeout=30) as answer:
        lines = answer.iter_lines()
        assert "pulling manifest" in next(lines)
        registry.until_stalled(1)
        assert live.read(lambda node: len(node.registries._transfers._running)) == 1
    live.until(lambda node: not node.registries._transfers._running)


def test_only_the_registries_of_the_setting(registry: FakeRegistry, tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), registries=("registry.test",))
    with serving(settings) as server:
        asked = {"model": f"{registry.host}/ns/m", "insecure": True, "stream": False}
        answer = httpx.post(f"{server.url}/api/pull", json=asked)
    assert answer.status_code == 403
    assert "OLLAMA_TTS_REGISTRIES" in answer.json()["error"]
    assert registry.seen == []
