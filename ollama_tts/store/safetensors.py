"""Safetensors headers, read with suspicion and without loading a tensor.

The file: eight bytes of header length (little endian), a JSON header, then the tensors' bytes
without gap or overlap.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ollama_tts.errors import InvalidWeights
from ollama_tts.store.tensors import TensorInfo

MAX_HEADER_BYTES = 4 * 1024 * 1024
MAX_DIMENSIONS = 8
DTYPE_BYTES: Mapping[str, int] = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2,
    "U16": 2, "I8": 1, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensors:
    """What a header says: its tensors by name, in the order in which they lie."""

    tensors: Mapping[str, TensorInfo]

    @property
    def numbers(self) -> Mapping[str, int]:
        """How many numbers of each dtype it holds, as `{"F16": 11_200_000}`."""
        found: dict[str, int] = {}
        for tensor in self.tensors.values():
            found[tensor.dtype] = found.get(tensor.dtype, 0) + tensor.count
        return found

    @property
    def parameters(self) -> int:
        """How many numbers the file holds."""
        return sum(self.numbers.values())


class _Tensor(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def check_safetensors(path: Path, name: str) -> Tensors:
    """What the file at `path` holds, once its header was found sound; `name` is for errors.

    Raises:
        InvalidWeights: What is wrong, with the file's and the tensor's name, never a path.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > size - 8:
                raise _bad(name, f"a header of {length} bytes in a file of {size}")
            if length > MAX_HEADER_BYTES:
                raise _bad(name, f"a header of {length} bytes; {MAX_HEADER_BYTES} are allowed")
            header = file.read(length)
    except OSError as error:
        raise _bad(name, error.strerror or "it cannot be read") from error
    return _check(_tensors(header, name), 8 + length, size, name)


def _tensors(header: bytes, name: str) -> dict[str, _Tensor]:
    try:
        raw = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        return {key: msgspec.json.decode(text, type=_Tensor) for key, text in raw.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(name, f"the header is damaged: {error}") from error


def _check(tensors: Mapping[str, _Tensor], start_bytes: int, size_bytes: int, name: str) -> Tensors:
    """The tensors, which lie from `start_bytes` to the file's end without gap or overlap."""
    found: dict[str, TensorInfo] = {}
    data_bytes, expected = size_bytes - start_bytes, 0
    for key, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        begin, end = tensor.data_offsets
        if begin != expected or end < begin or end > data_bytes:
            raise _bad(
                name,
                f"tensor {_shown(key)} lies at {begin}..{end}, where {expected} is next "
                f"and {data_bytes} bytes are all",
            )
        if _count(tensor, key, name) * DTYPE_BYTES[tensor.dtype] != end - begin:
            raise _bad(name, f"tensor {_shown(key)} does not fit its shape {tensor.shape[:8]}")
        at = start_bytes + begin
        found[key] = TensorInfo(key, tensor.dtype, tuple(tensor.shape), at, end - begin)
        expected = end
    if expected != data_bytes or not tensors:
        raise _bad(name, f"its tensors fill {expected} of {data_bytes} bytes")
    return Tensors(found)


def _count(tensor: _Tensor, key: str, name: str) -> int:
    if tensor.dtype not in DTYPE_BYTES:
        raise _bad(name, f"tensor {_shown(key)} has the unknown type {_shown(tensor.dtype)}")
    if len(tensor.shape) > MAX_DIMENSIONS or any(length < 0 for length in tensor.shape):
        raise _bad(name, f"tensor {_shown(key)} has the shape {tensor.shape[:8]}")
    return math.prod(tensor.shape)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _bad(name: str, what: str) -> InvalidWeights:
    return InvalidWeights(f"{name} is not a sound safetensors file: {what}")
