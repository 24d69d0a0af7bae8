"""GGUF headers, read with suspicion: which architecture, how many numbers."""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ollama_tts.errors import InvalidWeights

MAGIC = b"GGUF"
MAX_ENTRIES = 65_536
MAX_ELEMENTS = 1_000_000
MAX_STRING_BYTES = 1024 * 1024
MAX_HEADER_BYTES = 32 * 1024 * 1024
MAX_DIMENSIONS = 4

_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class GGUF:
    """What a header says. `file_type` is llama.cpp's number for the quantization, or None."""

    architecture: str
    file_type: int | None
    parameters: int


def check_gguf(path: Path, name: str) -> GGUF:
    """What the file at `path` holds, once its header was found sound; `name` is for errors.

    Raises:
        InvalidWeights: `supplied file was not in GGUF format`, or what is wrong with it.
    """
    try:
        with path.open("rb") as file:
            return _Header(file, path.stat().st_size, name).read()
    except (OSError, struct.error) as error:
        raise _bad(name, "the header is cut short") from error


class _Header:
    """Reads one header; every count and length is bounded before it is followed."""

    def __init__(self, file: BinaryIO, size_bytes: int, name: str) -> None:
        self._file = file
        self._size_bytes = size_bytes
        self._name = name

    def read(self) -> GGUF:
        if self._file.read(4) != MAGIC:
            raise InvalidWeights(f"supplied file was not in GGUF format: {self._name}")
        version = self._number("<I")
        if version not in {2, 3}:
            raise _bad(self._name, f"version {version} is not 2 or 3")
        tensors, entries = self._count("tensors"), self._count("entries")
        values = dict(self._entry() for _ in range(entries))
        parameters = sum(self._tensor() for _ in range(tensors))
        architecture, file_type = (
            values.get("general.architecture"),
            values.get("general.file_type"),
        )
        return GGUF(
            architecture if isinstance(architecture, str) else "",
            file_type if isinstance(file_type, int) else None,
            parameters,
        )

    def _entry(self) -> tuple[str, object]:
        return self._string(), self._value(int(self._number("<I")))

    def _value(self, kind: int) -> object:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            self._skip_array()
            return None
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        raise _bad(self._name, f"an entry of the unknown type {kind}")

    def _skip_array(self) -> None:
        kind, count = int(self._number("<I")), int(self._number("<Q"))
        if count > MAX_ELEMENTS:
            raise _bad(self._name, f"an array of {count} elements")
        if kind in _SCALARS:
            self._take(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _STRING:
            for _ in range(count):
                self._string()
        else:
            raise _bad(self._name, f"an array of the unknown type {kind}")

    def _tensor(self) -> int:
        """One tensor's record; gives how many numbers it holds."""
        self._string()
        dimensions = int(self._number("<I"))
        if dimensions > MAX_DIMENSIONS:
            raise _bad(self._name, f"a tensor of {dimensions} dimensions")
        count = math.prod(int(self._number("<Q")) for _ in range(dimensions))
        self._number("<I")
        if int(self._number("<Q")) > self._size_bytes or count > 8 * self._size_bytes:
            raise _bad(self._name, f"a tensor of {count} numbers in {self._size_bytes} bytes")
        return count

    def _count(self, what: str) -> int:
        count = int(self._number("<Q"))
        if count > MAX_ENTRIES:
            raise _bad(self._name, f"{count} {what}")
        return count

    def _string(self) -> str:
        length = int(self._number("<Q"))
        if length > MAX_STRING_BYTES:
            raise _bad(self._name, f"a text of {length} bytes")
        return self._take(length).decode("utf-8", "replace")

    def _number(self, form: str) -> float:
        number: float = struct.unpack(form, self._take(struct.calcsize(form)))[0]
        return number

    def _take(self, count: int) -> bytes:
        if self._file.tell() + count > MAX_HEADER_BYTES:
            raise _bad(self._name, f"a header of more than {MAX_HEADER_BYTES} bytes")
        data = self._file.read(count)
        if len(data) < count:
            raise _bad(self._name, "the header is cut short")
        return data


def _bad(name: str, what: str) -> InvalidWeights:
    return InvalidWeights(f"{name} is not a sound GGUF file: {what}")
