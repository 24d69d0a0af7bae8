from pathlib import Path

import pytest

from ollama_tts.store.store import Store
from tests.support.stores import Clock


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(models_dir: Path, clock: Clock) -> Store:
    return Store(models_dir, clock=clock)
