"""GGUF headers, read with suspicion: metadata and where each tensor lies. No tensor is read.

The file: magic, version, counts, metadata, one record a tensor, and from the next multiple of
`general.alignment` on the tensors' bytes. The `gguf` package's own reader trusts counts and
lengths; here each is bounded before it is followed.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ollama_tts.errors import InvalidWeights
from ollama_tts.store.tensors import TYPES, TensorInfo

MAGIC = b"GGUF"
MAX_ENTRIES = 65_536
MAX_ELEMENTS = 1_000_000
MAX_KEPT_ELEMENTS = 65_536
MAX_NAME_BYTES = 1024
MAX_STRING_BYTES = 16 * 1024 * 1024
MAX_HEADER_BYTES = 32 * 1024 * 1024
MAX_DIMENSIONS = 4
MAX_ALIGNMENT = 1 << 20
DEFAULT_ALIGNMENT = 32

SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
STRING, ARRAY = 8, 9
Scalar = str | bool | int | float
Value = Scalar | tuple[Scalar, ...] | None
_NAMES = {kind.ggml: kind.name for kind in TYPES.values()}


@dataclass(frozen=True, slots=True)
class GGUF:
    """What a header says.

    `values` are the metadata in order; an array of more than 65,536 elements is None. `tensors`
    of a type that is not in `TYPES` have the dtype `type N` and the size 0.
    """

    architecture: str
    file_type: int | None
    parameters: int
    values: Mapping[str, Value] = field(default_factory=dict)
    tensors: Mapping[str, TensorInfo] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class _Record:
    """A tensor's record as it stands in the file: `offset` counts from where tensors begin."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size_bytes(self) -> int:
        kind = TYPES.get(self.dtype)
        return kind.size_bytes(math.prod(self.shape)) if kind else 0


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
        values = self._entries(entries)
        records = [self._record() for _ in range(tensors)]
        architecture = values.get("general.architecture")
        file_type = values.get("general.file_type")
        return GGUF(
            architecture if isinstance(architecture, str) else "",
            file_type if isinstance(file_type, int) else None,
            sum(math.prod(record.shape) for record in records),
            values,
            self._placed(records, self._alignment(values)),
        )

    def _entries(self, count: int) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for _ in range(count):
            key = self._string(MAX_NAME_BYTES)
            if key in values:
                raise _bad(self._name, f"the key {_shown(key)} twice")
            values[key] = self._value(int(self._number("<I")))
        return values

    def _value(self, kind: int) -> Value:
        if kind == STRING:
            return self._string(MAX_STRING_BYTES)
        if kind == ARRAY:
            return self._array()
        if kind in SCALARS:
            return self._number(SCALARS[kind])
        raise _bad(self._name, f"an entry of the unknown type {kind}")

    def _array(self) -> Value:
        kind, count = int(self._number("<I")), int(self._number("<Q"))
        if count > MAX_ELEMENTS:
            raise _bad(self._name, f"an array of {count} elements")
        kept = count <= MAX_KEPT_ELEMENTS
        if kind in SCALARS:
            form = SCALARS[kind]
            data = self._take(count * struct.calcsize(form))
            return struct.unpack(f"<{count}{form[1]}", data) if kept else None
        if kind != STRING:
            raise _bad(self._name, f"an array of the unknown type {kind}")
        if kept:
            return tuple(self._string(MAX_STRING_BYTES) for _ in range(count))
        for _ in range(count):
            self._string(MAX_STRING_BYTES)
        return None

    def _record(self) -> _Record:
        name = self._string(MAX_NAME_BYTES)
        dimensions = int(self._number("<I"))
        if dimensions > MAX_DIMENSIONS:
            raise _bad(self._name, f"a tensor of {dimensions} dimensions")
        shape = tuple(int(self._number("<Q")) for _ in range(dimensions))[::-1]
        kind, offset = int(self._number("<I")), int(self._number("<Q"))
        count = math.prod(shape)
        if offset > self._size_bytes or count > 8 * self._size_bytes:
            raise _bad(self._name, f"a tensor of {count} numbers in {self._size_bytes} bytes")
        dtype = _NAMES.get(kind, f"type {kind}")
        if dtype in TYPES and TYPES[dtype].narrow and not TYPES[dtype].fits((1, *shape)):
            raise _bad(self._name, f"tensor {_shown(name)}: {list(shape)} is not whole blocks")
        return _Record(name, dtype, shape, offset)

    def _alignment(self, values: Mapping[str, Value]) -> int:
        found = values.get("general.alignment", DEFAULT_ALIGNMENT)
        sound = isinstance(found, int) and 1 <= found <= MAX_ALIGNMENT
        if not isinstance(found, int) or not sound or found & (found - 1):
            raise _bad(self._name, f"an alignment of {_shown(str(found))}")
        return found

    def _placed(self, records: list[_Record], alignment: int) -> dict[str, TensorInfo]:
        """The tensors by name, once they were seen to lie apart and inside the file."""
        start = -(-self._file.tell() // alignment) * alignment
        placed: dict[str, TensorInfo] = {}
        free = 0
        for record in sorted(records, key=lambda record: record.offset):
            what = f"tensor {_shown(record.name)}"
            if record.name in placed:
                raise _bad(self._name, f"{what} twice")
            if record.offset % alignment:
                raise _bad(self._name, f"{what} lies at {record.offset}, not on {alignment}")
            if record.offset < free:
                raise _bad(self._name, f"{what} lies over the one before it")
            free = record.offset + record.size_bytes
            if start + free > self._size_bytes:
                raise _bad(self._name, f"{what} ends at {start + free} of {self._size_bytes} bytes")
            placed[record.name] = TensorInfo(
                record.name, record.dtype, record.shape, start + record.offset, record.size_bytes
            )
        return placed

    def _count(self, what: str) -> int:
        count = int(self._number("<Q"))
        if count > MAX_ENTRIES:
            raise _bad(self._name, f"{count} {what}")
        return count

    def _string(self, most_bytes: int) -> str:
        length = int(self._number("<Q"))
        if length > most_bytes:
            raise _bad(self._name, f"a text of {length} bytes")
        try:
            return self._take(length).decode("utf-8")
        except UnicodeDecodeError:
            raise _bad(self._name, "a text that is not UTF-8") from None

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


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _bad(name: str, what: str) -> InvalidWeights:
    return InvalidWeights(f"{name} is not a sound GGUF file: {what}")
