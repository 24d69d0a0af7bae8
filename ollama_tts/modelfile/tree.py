"""Which files a `FROM` or `ADAPTER` path stands for."""

import os
from collections.abc import Mapping
from pathlib import Path

from ollama_tts.errors import InvalidModelfile

# What a voice is made of. Pickles (.pt, .pth, .bin, .ckpt) run code when they are opened.
MODEL_SUFFIXES = frozenset({".safetensors", ".json", ".gguf"})
WEIGHT_SUFFIXES = frozenset({".safetensors", ".gguf"})
MAX_FILES = 4096


def expand(text: str, base: Path) -> Path:
    """The path that a Modelfile in folder `base` means by `text`; `~` is the home folder."""
    path = Path(text).expanduser() if text.startswith("~") else Path(text)
    return Path(os.path.normpath(base / path))


def collect(path: Path) -> Mapping[str, Path]:
    """The files of a model: `path` itself, or what a folder holds of them, by relative path.

    Raises:
        InvalidModelfile: A folder without weights, or with links out of it, or too many files.
    """
    if not path.is_dir():
        return {path.name: path}
    found: dict[str, Path] = {}
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if file.suffix.lower() in MODEL_SUFFIXES and not name.startswith("."):
                _refuse_outside(file, path)
                found[file.relative_to(path).as_posix()] = file
        if len(found) > MAX_FILES:
            raise InvalidModelfile(f"{path.name}: more than {MAX_FILES} files")
    if not any(Path(name).suffix.lower() in WEIGHT_SUFFIXES for name in found):
        raise InvalidModelfile(
            "no Modelfile or safetensors files found",
            detail=f"folder {path.name!r} needs .safetensors or .gguf files; "
            "pickles (.pt, .pth, .bin) are not read",
        )
    return found


def _refuse_outside(file: Path, root: Path) -> None:
    if not file.resolve().is_relative_to(root.resolve()):
        raise InvalidModelfile(f"insecure path: {file.relative_to(root).as_posix()}")
