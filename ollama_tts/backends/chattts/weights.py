"""`Checkpoint`: the weight files of a model, checked both ways before a byte of them is used.

Tensors are read one at a time from a memory map and copied straight into the dtype and device
that are wanted. Each map is closed at once, so loading never holds more than the loaded model
and one tensor.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import ChatTTSConfig, parse_config
from ollama_tts.errors import InvalidWeights, LoadFailed

FLOATS = frozenset({"F32", "F16", "BF16"})


class Checkpoint:
    """A checkpoint in the official layout. `files` maps relative paths to files on disk.

    Raises:
        InvalidWeights: A file is missing or damaged, or a tensor is missing, unknown, of another
            shape than the sizes ask for, or not a float.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        missing = [name for name in layout.REQUIRED if name not in files]
        if any(name.lower().endswith(".gguf") for name in files):
            raise InvalidWeights(
                "chattts models are read from safetensors in the official layout, not from GGUF"
            )
        if missing:
            raise InvalidWeights(f"this is no ChatTTS checkpoint: {', '.join(missing)} missing")
        self.files = dict(files)
        self.config = read_config(files)
        expected = layout.shapes(self.config)
        self._shapes = {name: shapes for name, shapes in expected.items() if name in files}
        for name, shapes in self._shapes.items():
            _check(name, files[name], shapes)

    def tensor(
        self, file: str, name: str, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> Tensor:
        """One tensor of `file` in its own memory, in `dtype` on `device`.

        Raises:
            LoadFailed: The file cannot be read any more.
        """
        try:
            with safe_open(self.files[file], framework="pt") as opened:
                found: Tensor = opened.get_tensor(name)
                return found.to(device=device, dtype=dtype, copy=True).contiguous()
        except (OSError, SafetensorError) as error:
            raise LoadFailed(f"{file}: {name} cannot be read: {error}") from error

    def parameters(self) -> int:
        """How many numbers the model holds, tensors that nothing reads left out."""
        return sum(
            math.prod(shape) for shapes in self._shapes.values() for shape in shapes.values()
        )

    @property
    def tokenizer(self) -> Path:
        """The tokenizer's `tokenizer.json`."""
        return self.files[layout.TOKENIZER]

    def speakers(self) -> Mapping[str, str]:
        """Named voices that lie beside the weights (`speakers.json`): name → speaker string.

        Raises:
            InvalidWeights: The file is there and is not an object of texts.
        """
        if layout.SPEAKERS not in self.files:
            return {}
        found = _json(layout.SPEAKERS, self.files[layout.SPEAKERS])
        if not all(isinstance(v, str) for v in found.values()):
            raise InvalidWeights(f"{layout.SPEAKERS} must map names to speaker strings")
        return {name: str(value) for name, value in found.items()}


def read_config(files: Mapping[str, Path]) -> ChatTTSConfig:
    """The sizes of a checkpoint: those of its `config.json`, or the official ones.

    Raises:
        InvalidWeights: The config is damaged.
    """
    if layout.CONFIG not in files:
        return ChatTTSConfig()
    return parse_config(_bytes(layout.CONFIG, files[layout.CONFIG]))


def _json(name: str, path: Path) -> dict[str, object]:
    try:
        tree = json.loads(_bytes(name, path))
    except ValueError as error:
        raise InvalidWeights(f"{name} is not JSON: {error}") from None
    if not isinstance(tree, dict):
        raise InvalidWeights(f"{name} must hold an object")
    return tree


def _bytes(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LoadFailed(f"{name} cannot be read: {error.strerror}") from error


def _check(file: str, path: Path, expected: layout.Shapes) -> None:
    """Names, shapes and kinds of all tensors in a file, without reading any."""
    try:
        with safe_open(path, framework="pt") as opened:
            found = {
                name: (
                    opened.get_slice(name).get_dtype(),
                    tuple(opened.get_slice(name).get_shape()),
                )
                for name in opened.keys()  # noqa: SIM118  # not a mapping
            }
    except (OSError, SafetensorError) as error:
        raise InvalidWeights(f"{file} is damaged or not safetensors: {error}") from error
    _refuse(file, "lacks", expected.keys() - found.keys())
    _refuse(file, "holds unknown", found.keys() - expected.keys() - layout.IGNORED)
    for name, shape in expected.items():
        kind, got = found[name]
        if got != shape:
            raise InvalidWeights(f"{file}: {name} is {list(got)}, not {list(shape)}")
        if kind not in FLOATS:
            raise InvalidWeights(
                f"{file}: {name} is {kind}, not one of {', '.join(sorted(FLOATS))}"
            )


def _refuse(file: str, verb: str, names: Iterable[str]) -> None:
    listed = sorted(names)
    if listed:
        more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
        raise InvalidWeights(f"{file} {verb} tensors: {', '.join(listed[:3])}{more}")


def directory(root: Path) -> dict[str, Path]:
    """The files of a checkpoint that lies in a directory, by relative path."""
    return {str(path.relative_to(root)): path for path in _files(root)}


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())
