from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ollama_tts.backends.chattts.native import library
from ollama_tts.engine.step_model import uniform
from ollama_tts.errors import Unsupported


@given(st.integers(0, 2**64 - 1), st.integers(0, 4095), st.integers(0, 3), st.integers(0, 25_000))
def test_random_numbers_are_the_engines(seed: int, step: int, codebook: int, index: int) -> None:
    native: float = library.load().ott_uniform(seed, step, codebook, index)
    assert native == uniform(seed, step, codebook, index)


def test_a_machine_without_it_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find", lambda: None)
    with pytest.raises(Unsupported, match="C\\+\\+17 compiler"):
        library.load()


def test_a_file_that_does_not_load_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "_step.so"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(library, "find", lambda: broken)
    with pytest.raises(Unsupported, match="does not load here"):
        library.load()
