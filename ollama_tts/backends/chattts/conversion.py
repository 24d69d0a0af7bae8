"""A model as one GGUF: which type each tensor gets, and the file's bytes, piece by piece.

Nothing here holds more than a header and a piece of rows, whatever the model's size.
"""

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.chattts import gguf_keys, layout
from ollama_tts.backends.chattts.blocks import decode, encode
from ollama_tts.backends.chattts.sources import PREFIXES, Source, Stored, open_source
from ollama_tts.errors import InvalidRequest, InvalidWeights
from ollama_tts.store.gguf import DEFAULT_ALIGNMENT
from ollama_tts.store.tensors import TYPES

PIECE_NUMBERS = 1 << 18
# What the step of a block, or the number itself, must stay below: float16's largest number.
_LARGEST_HALF = 65504.0
_LARGEST = 3.4028234663852886e38
_STEPS = {"F16": 1, "Q8_0": 127, "Q5_0": 16, "Q4_0": 8}
# Matrices that are rounded to shared steps; all others keep 16 bits, vectors 32.
_NARROWED: Mapping[str, tuple[str, ...]] = {
    layout.GPT: ("_proj.weight",),
    layout.EMBED: ("emb_text.weight", "head_text.parametrizations.weight.original1"),
    layout.DECODER: ("pwconv1.weight", "pwconv2.weight"),
    layout.VOCOS: ("pwconv1.weight", "pwconv2.weight", "head.out.weight"),
}
_ALWAYS_FULL = (".fb", ".original0", "coef")


@dataclass(frozen=True, slots=True)
class _Planned:
    """A tensor to be written as `dtype`."""

    name: str
    stored: Stored
    dtype: str

    @property
    def size_bytes(self) -> int:
        return TYPES[self.dtype].size_bytes(self.stored.info.count)

    @property
    def padding_bytes(self) -> int:
        return -self.size_bytes % DEFAULT_ALIGNMENT


class Conversion:
    """One model on its way into a GGUF.

    Args:
        source: The model.
        dtype: What most of it becomes: a name of `store.tensors.TYPES`. None: each tensor stays
            what it is.
        licenses: Texts that go into the file.

    Raises:
        InvalidRequest: The model's numbers are in shared steps already, and not in those.
    """

    def __init__(self, source: Source, dtype: str | None, licenses: Sequence[str] = ()) -> None:
        self.before = source.precision
        self.after = dtype or self.before
        if TYPES[self.before].narrow and self.after != self.before:
            raise InvalidRequest(
                "quantization is only supported for F16, BF16 and F32 models, "
                f"and this one is {self.before}"
            )
        kept = self.after == self.before
        self._tensors = [
            _Planned(PREFIXES[file] + name, stored,
                     stored.info.dtype if kept else _type(file, name, stored, self.after))
            for file, tensors in source.tensors.items()
            for name, stored in tensors.items()
        ]  # fmt: skip
        self._header = _header(_metadata(source, self.after, licenses), self._tensors)

    @property
    def size_bytes(self) -> int:
        """The size of the whole file."""
        data = sum(tensor.size_bytes + tensor.padding_bytes for tensor in self._tensors)
        return len(self._header) + data

    def chunks(self) -> Iterator[bytes]:
        """The file, in order, in pieces of about a megabyte.

        Raises:
            InvalidWeights: A tensor holds what its new type cannot; the text names it.
            LoadFailed: A file of the model cannot be read any more.
        """
        yield self._header
        for tensor in self._tensors:
            yield from _pieces(tensor)
            yield bytes(tensor.padding_bytes)


def convert(
    files: Mapping[str, Path], dtype: str | None, licenses: Sequence[str] = ()
) -> Conversion:
    """The model in these files on its way into a GGUF; see `Conversion`.

    Raises:
        InvalidRequest: These files are no model, or its numbers are in shared steps already.
        LoadFailed: A file cannot be read.
    """
    source = open_source(files)
    return Conversion(source, dtype, licenses or source.licenses)


def _type(file: str, name: str, stored: Stored, wanted: str) -> str:
    """What a tensor becomes in a model of mostly `wanted`."""
    shape = stored.info.shape
    if len(shape) < 2 or name.endswith(_ALWAYS_FULL):
        return "F32"
    kind = TYPES[wanted]
    if not kind.narrow:
        return wanted
    return wanted if name.endswith(_NARROWED.get(file, ())) and kind.fits(shape) else "F16"


def _pieces(tensor: _Planned) -> Iterator[bytes]:
    """The bytes of one tensor, some rows at a time."""
    stored = tensor.stored
    rows = max(1, PIECE_NUMBERS * stored.rows // max(stored.info.count, 1))
    for start in range(0, stored.rows, rows):
        raw = stored.raw(start, min(start + rows, stored.rows))
        if tensor.dtype != stored.info.dtype:
            values = decode(raw, stored.info.dtype)
            _check(values, tensor)
            raw = encode(values, tensor.dtype)
        yield raw.tobytes()


def _check(values: NDArray[np.float32], tensor: _Planned) -> None:
    """Refuse numbers that would not be themselves in the new type."""
    largest = float(np.abs(values).max(initial=0))
    most = _LARGEST_HALF * _STEPS.get(tensor.dtype, math.inf)
    if not largest <= min(most, _LARGEST):
        raise InvalidWeights(
            f"{tensor.stored.shown}: {tensor.stored.info.name} holds {largest:g}, "
            f"which {tensor.dtype} cannot; at most {most:g} is allowed"
        )


def _metadata(source: Source, dtype: str, licenses: Sequence[str]) -> dict[str, gguf_keys.Written]:
    """All of the file but its tensors; docs/gguf.md says what each key holds."""
    papers = {gguf_keys.FILE_PREFIX + name: source.paper(name) for name in sorted(source.papers)}
    return {
        "general.file_type": TYPES[dtype].file_type,
        "general.quantization_version": 2,
        gguf_keys.VERSION_KEY: gguf_keys.VERSION,
        **gguf_keys.sizes(source.config),
        **gguf_keys.token_ids(source.tokenizer),
        gguf_keys.STATISTICS_KEY: source.config.spk_stat,
        gguf_keys.NAMES_KEY: tuple(source.speakers),
        gguf_keys.STRINGS_KEY: tuple(source.speakers.values()),
        gguf_keys.LICENSES_KEY: tuple(licenses),
        gguf_keys.TOKENIZER_KEY: source.tokenizer,
        **papers,
    }


def _header(values: Mapping[str, gguf_keys.Written], tensors: Sequence[_Planned]) -> bytes:
    """Everything before the first tensor's bytes, as the `gguf` package writes it."""
    writer = gguf.GGUFWriter(None, gguf_keys.ARCHITECTURE)
    for key, value in values.items():
        _add(writer, key, value)
    for tensor in tensors:
        writer.add_tensor_info(
            tensor.name,
            tensor.stored.info.shape,
            np.dtype(np.float32),
            tensor.size_bytes,
            gguf.GGMLQuantizationType[tensor.dtype],
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "header"
        writer.write_header_to_file(path)
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        writer.close()
        data = path.read_bytes()
    return data + bytes(-len(data) % DEFAULT_ALIGNMENT)


def _add(writer: gguf.GGUFWriter, key: str, value: gguf_keys.Written) -> None:
    if isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, float):
        writer.add_float64(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif value:
        writer.add_array(key, list(value))
