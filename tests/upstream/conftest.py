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
