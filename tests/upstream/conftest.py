"""Our server in front of a small Ollama, both live."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import ollama
import openai
import pytest

from tests.support.live import LiveServer, serving, settings_for
from tests.support.upstream import FakeOllama


@pytest.fixture
def behind() -> Iterator[FakeOllama]:
    """The Ollama behind us."""
    with FakeOllama({"qwen3:latest": ["Good", " morning", "."]}).up() as up:
        yield up


@pytest.fixture
def front(tmp_path: Path, behind: FakeOllama) -> Iterator[LiveServer]:
    """Our server."""
    settings = replace(settings_for(tmp_path / "models"), upstream=behind.url)
    with serving(settings) as server:
        yield server


@pytest.fixture(scope="session")
def shared_behind() -> Iterator[FakeOllama]:
    """One Ollama behind `shared_front`, for many small tests; each says what its models answer."""
    with FakeOllama({"qwen3:latest": ["Good", " morning", "."]}).up() as up:
        yield up


@pytest.fixture(scope="session")
def shared_front(
    tmp_path_factory: pytest.TempPathFactory, shared_behind: FakeOllama
) -> Iterator[LiveServer]:
    """One server of ours for tests that only ask; it holds `talker`, which speaks `qwen3`."""
    models_dir = tmp_path_factory.mktemp("shared") / "models"
    with serving(replace(settings_for(models_dir), upstream=shared_behind.url)) as server:
        make_talker(server)
        yield server


def make_talker(front: LiveServer) -> None:
    """Create a model of ours whose words are a language model's."""
    modelfile = "FROM tone\nPARAMETER llm qwen3\nSYSTEM You are brief.\n"
    body = {"model": "talker", "modelfile": modelfile, "stream": False}
    assert httpx.post(f"{front.url}/api/create", json=body, timeout=60).status_code == 200


@pytest.fixture
def http(front: LiveServer) -> Iterator[httpx.Client]:
    """Plain HTTP to our server."""
    with httpx.Client(base_url=front.url, timeout=60) as client:
        yield client


@pytest.fixture
def client(front: LiveServer) -> Iterator[ollama.Client]:
    """The stock Python client, pointed at our server."""
    with ollama.Client(host=front.url) as client:
        yield client


@pytest.fixture
def openai_client(front: LiveServer) -> Iterator[openai.OpenAI]:
    """OpenAI's client, likewise."""
    with openai.OpenAI(base_url=f"{front.url}/v1", api_key="-") as client:
        yield client
