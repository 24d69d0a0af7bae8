"""Every file of modelfiles/ parses, says what it needs, and asks for what it seems to."""

from pathlib import Path

import pytest

from ollama_tts import modelfile
from ollama_tts.options import resolve

FOLDER = Path(__file__).parents[2] / "modelfiles"
FILES = sorted(FOLDER.iterdir())
PACKAGE_VOICES = {"hibari", "tone"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_converts_and_its_options_are_in_the_table(path: Path) -> None:
    parts = modelfile.to_create_request(modelfile.parse(path.read_bytes()), FOLDER)
    assert not parts.warnings
    assert not parts.files  # FROM means a model; the one folder is not in the repository
    resolved = resolve(parts.parameters)
    assert not resolved.unknown
    assert resolved.given


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_says_how_it_is_used_and_what_it_needs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert f"-f modelfiles/{path.name}" in text
    base = modelfile.to_create_request(modelfile.parse(text), FOLDER).from_
    assert base in PACKAGE_VOICES or "2Noise/ChatTTS" in text or "chattts.Modelfile" in text


def test_the_ones_that_users_know_are_there() -> None:
    def parameters(name: str) -> dict[str, object]:
        text = (FOLDER / f"{name}.Modelfile").read_bytes()
        return modelfile.to_create_request(modelfile.parse(text), FOLDER).parameters

    assert parameters("chattts-int8") == {
        "quantization": "int8", "num_gpu_layers": 20, "num_ctx": 2048,
    }  # fmt: skip
    assert parameters("chattts-fp16") == {"fp16": True, "gpu_layers": 40}
    assert parameters("probe")["custom_metrics"] is True
