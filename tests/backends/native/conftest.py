"""Tiny models for the native step; skipped where it was not built."""

from collections.abc import Iterator

import pytest
import torch

from ollama_tts.backends.chattts.native.library import find
from ollama_tts.backends.chattts.weights import Checkpoint, directory
from tests.support.checkpoints import TINY, write


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a compiler there is nothing to test here."""
    if find() is None:
        for item in items:
            if "backends/native" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason="the native step was not built"))


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tests share few cores; one thread each is quickest."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A tiny random checkpoint."""
    return Checkpoint(directory(write(tmp_path_factory.mktemp("tiny"), TINY)))
