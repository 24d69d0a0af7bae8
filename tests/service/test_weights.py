import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from typing_extensions import override

from ollama_tts.errors import InvalidRequest, InvalidWeights
from ollama_tts.service import weights
from ollama_tts.store import manifests
from tests.support.services import mini_files

SOUND = save({"a": np.zeros(3, np.float16)})


class Bomb:
    """Unpickling it makes a marker file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    @override
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.marker,)


def written(folder: Path, files: dict[str, bytes]) -> dict[str, Path]:
    paths = {}
    for index, (name, data) in enumerate(files.items()):
        paths[name] = folder / f"sha256-{index}"
        paths[name].write_bytes(data)
    return paths


def test_the_small_checkpoint(tmp_path: Path) -> None:
    config = weights.inspect(written(tmp_path, mini_files()))
    assert (config.model_format, config.quantization) == ("chattts", "fp16")
    assert (config.context_length, config.embedding_length) == (4096, 256)
    assert config.parameter_size == "11.35M"
    assert config.info == {"general.parameter_count": 11_352_674}


def test_types(tmp_path: Path) -> None:
    files = {"a.safetensors": SOUND, "b.json": b"{}", "c": b"GGUF" + bytes(20)}
    paths = written(tmp_path, files)
    assert [weights.media_type(name, path) for name, path in paths.items()] == [
        manifests.FILE,
        manifests.JSON_FILE,
        manifests.MODEL,
    ]


@pytest.mark.parametrize("name", ["noext", "a.txt", "a.bin", "a.onnx"])
def test_unknown_type(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^unknown type: {name} is neither"):
        weights.inspect(written(tmp_path, {name: b"hello"}))


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("model/data.pkl", b"x")
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["model.pt", "model.pth", "model.bin", "model.safetensors", "x"])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_refused_and_never_opened(tmp_path: Path, name: str, protocol: int) -> None:
    marker = tmp_path / "marker"
    files = written(tmp_path, {name: pickle.dumps(Bomb(marker), protocol)})
    with pytest.raises(InvalidWeights, match="is a pickle or an archive"):
        weights.inspect(files)
    with pytest.raises(InvalidWeights, match="is a pickle or an archive"):
        weights.check_adapter(name, files[name])
    assert not marker.exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.safetensors", archive()), ("a.npz", archive()), ("a.pt", b"hello"), ("a.ckpt", b"")],
)
def test_archives_and_endings_of_pickles_are_refused(
    tmp_path: Path, name: str, data: bytes
) -> None:
    with pytest.raises(InvalidWeights, match="convert it to safetensors"):
        weights.inspect(written(tmp_path, {name: data}))


def test_a_ggufs_name_without_its_magic(tmp_path: Path) -> None:
    with pytest.raises(InvalidWeights, match=r"^supplied file was not in GGUF format: x\.gguf$"):
        weights.inspect(written(tmp_path, {"x.gguf": b"hello"}))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    files = {n: d for n, d in mini_files().items() if n != "asset/Vocos.safetensors"}
    with pytest.raises(
        InvalidRequest, match=r"^unknown type: .*\(asset/Vocos\.safetensors missing"
    ):
        weights.inspect(written(tmp_path, files))


CONFIGS = {
    "no JSON": b"{",
    "a list": b"[]",
    "nested": b'{"gpt":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "wrong type": json.dumps({"gpt": {"hidden_size": "big"}}).encode(),
    "section a list": json.dumps({"gpt": []}).encode(),
    "negative": json.dumps({"gpt": {"hidden_size": -1}}).encode(),
    "not fitting": json.dumps({"gpt": {"hidden_size": 7}}).encode(),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_a_bad_config(tmp_path: Path, config: bytes) -> None:
    files = written(tmp_path, {**mini_files(), "config.json": config})
    with pytest.raises(InvalidRequest) as caught:
        weights.inspect(files)
    assert str(tmp_path) not in str(caught.value)


def test_a_json_file_over_the_limit(tmp_path: Path) -> None:
    files = written(tmp_path, {"config.json": b" " * (weights.MAX_JSON_BYTES + 1)})
    with pytest.raises(InvalidWeights, match="larger than"):
        weights.check_json("config.json", files["config.json"])


def test_a_damaged_tensor_file(tmp_path: Path) -> None:
    files = written(tmp_path, {**mini_files(), "asset/Embed.safetensors": b"\x01\x00\x00\x00"})
    with pytest.raises(InvalidWeights, match=r"^asset/Embed\.safetensors is not a sound"):
        weights.inspect(files)


def gguf(architecture: str) -> bytes:
    def text(value: str) -> bytes:
        return len(value).to_bytes(8, "little") + value.encode()

    entry = text("general.architecture") + (8).to_bytes(4, "little") + text(architecture)
    counts = (0).to_bytes(8, "little") + (1).to_bytes(8, "little")
    return b"GGUF" + (3).to_bytes(4, "little") + counts + entry


def test_a_gguf_that_speaks_and_one_that_does_not(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="'llama', which does not speak"):
        weights.inspect(written(tmp_path, {"m.gguf": gguf("llama")}))


def test_adapters_may_be_texts_and_recordings(tmp_path: Path) -> None:
    files = written(tmp_path, {"a.txt": "蘁淰".encode(), "b.wav": b"RIFF", "c.safetensors": SOUND})
    for name, path in files.items():
        weights.check_adapter(name, path)
    for name, data in {"c.safetensors": b"junk", "d": b"GGUF"}.items():
        with pytest.raises(InvalidWeights):
            weights.check_adapter(name, written(tmp_path, {name: data})[name])


@pytest.mark.parametrize(
    ("given", "placed"),
    [
        ("asset/gpt/model.safetensors", "asset/gpt/model.safetensors"),
        ("gpt/model.safetensors", "asset/gpt/model.safetensors"),
        ("ChatTTS/asset/gpt/model.safetensors", "asset/gpt/model.safetensors"),
        ("x/y/gpt/model.safetensors", "asset/gpt/model.safetensors"),
        ("other.safetensors", "other.safetensors"),
    ],
)
def test_official_places(given: str, placed: str) -> None:
    assert weights.in_official_places({given: 1}) == {given: placed}


def test_official_places_of_a_whole_folder() -> None:
    names = dict.fromkeys(
        ["top/gpt/model.safetensors", "top/config.json", "top/tokenizer/tokenizer.json", "z.json"]
    )
    assert list(weights.in_official_places(names).values()) == [
        "asset/gpt/model.safetensors",
        "config.json",
        "asset/tokenizer/tokenizer.json",
        "z.json",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (12_000, "12K"), (334_080_000, "334.08M"), (11_000_000, "11M"),
     (1_240_000_000, "1.2B"), (2_000_000_000, "2B")],
)  # fmt: skip
def test_human_numbers(count: int, text: str) -> None:
    assert weights.human_number(count) == text
