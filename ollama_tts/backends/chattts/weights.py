"""`Checkpoint`: a model's weights as torch wants them, checked before a byte of them is used.

Tensors are read one at a time and copied straight into the dtype and device that are wanted, so
loading never holds more than the loaded model and one tensor.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from ollama_tts.backends.chattts.blocks import decode
from ollama_tts.backends.chattts.sources import Source, Stored, open_source, read_config

__all__ = ["Checkpoint", "directory", "read_config"]
# Types that torch reads itself; all others are unfolded to float32 first.
_PLAIN = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class Checkpoint:
    """A model's weights. `files` maps relative paths to files on disk.

    Raises:
        InvalidWeights: A file is missing or damaged, or a tensor is missing, unknown, of another
            shape than the sizes ask for, or of a kind that is not read.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = dict(files)
        self.source: Source = open_source(files)
        self.config = self.source.config

    def has(self, file: str) -> bool:
        """Whether the model has the tensors of this file of the official layout."""
        return file in self.source.tensors

    def tensor(
        self, file: str, name: str, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> Tensor:
        """One tensor of `file` in its own memory, in `dtype` on `device`.

        Raises:
            LoadFailed: The file cannot be read any more.
        """
        stored = self.source.tensors[file][name]
        found = numbers(stored)
        if found.dtype != dtype or found.device != torch.device(device):
            return found.to(device=device, dtype=dtype).contiguous()
        return found

    def parameters(self) -> int:
        """How many numbers the model holds, tensors that nothing reads left out."""
        return self.source.parameters

    @property
    def tokenizer(self) -> str:
        """The text of the tokenizer's `tokenizer.json`."""
        return self.source.tokenizer

    def speakers(self) -> Mapping[str, str]:
        """Named voices that come with the weights: name → speaker string."""
        return self.source.speakers


def numbers(stored: Stored) -> Tensor:
    """A tensor as it is stored, or as float32 where torch does not read its type; on the CPU.

    Raises:
        LoadFailed: The file cannot be read any more.
    """
    raw, plain, shape = stored.raw(), _PLAIN.get(stored.info.dtype), stored.info.shape
    if plain is None:
        return torch.from_numpy(decode(raw, stored.info.dtype)).view(shape)
    if not raw.size:
        return torch.empty(shape, dtype=plain)
    return torch.from_numpy(raw.reshape(-1)).view(plain).view(shape)


def directory(root: Path) -> dict[str, Path]:
    """The files of a checkpoint that lies in a directory, by relative path."""
    return {path.relative_to(root).as_posix(): path for path in _files(root)}


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())
