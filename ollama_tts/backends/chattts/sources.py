"""Where a model's tensors and texts lie: files in the official layout, or one GGUF.

Everything is checked by headers when a source is opened: names, shapes, kinds. Tensors are read a
piece of rows at a time, so nothing here needs torch or more memory than a piece.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.chattts import gguf_keys, layout
from ollama_tts.backends.chattts.config import ChatTTSConfig, parse_config
from ollama_tts.errors import InvalidRequest, InvalidWeights, LoadFailed
from ollama_tts.store.gguf import check_gguf
from ollama_tts.store.safetensors import check_safetensors
from ollama_tts.store.tensors import TYPES, TensorInfo

FLOATS = frozenset({"F32", "F16", "BF16"})
# Each file of the official layout is one prefix of a GGUF's tensor names.
PREFIXES: Mapping[str, str] = {
    layout.GPT: "gpt.",
    layout.EMBED: "embed.",
    layout.DECODER: "decoder.",
    layout.DVAE: "dvae.",
    layout.VOCOS: "vocos.",
}
OWN = frozenset({layout.CONFIG, layout.SPEAKERS, layout.TOKENIZER})
_BESIDE_GGUF = frozenset({layout.SPEAKERS})


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor and the file it lies in; `shown` is the file's name for errors."""

    path: Path
    info: TensorInfo
    shown: str

    @property
    def rows(self) -> int:
        """How many rows it is read in: the outermost length; vectors are one row."""
        return self.info.shape[0] if len(self.info.shape) > 1 else 1

    def raw(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint8]:
        """Rows [start, stop) as they lie in the file, uint8 [R, row bytes].

        Raises:
            LoadFailed: The file cannot be read any more.
        """
        stop = self.rows if stop is None else stop
        width = self.info.size_bytes // self.rows
        made = np.empty((stop - start, width), np.uint8)
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(self.info.start_bytes + start * width)
                rest = memoryview(made.data).cast("B")
                while rest:
                    count = file.readinto(rest)
                    if not count:
                        raise OSError(None, "the file ends early")  # noqa: TRY301  # one way out
                    rest = rest[count:]
        except OSError as error:
            reason = error.strerror or str(error)
            raise LoadFailed(f"{self.shown}: {self.info.name} cannot be read: {reason}") from error
        return made


@dataclass(frozen=True, slots=True)
class Source:
    """A whole model, checked by its headers.

    `tensors`: file of the official layout → name → tensor. `tokenizer` is the text of
    `tokenizer.json`, `speakers` maps names to speaker strings, `papers` are the other JSON files
    by relative path: texts, or files not read yet. `gguf` says whether all lies in one GGUF.
    """

    config: ChatTTSConfig
    tensors: Mapping[str, Mapping[str, Stored]]
    tokenizer: str
    speakers: Mapping[str, str]
    papers: Mapping[str, str | Path] = field(default_factory=dict)
    licenses: tuple[str, ...] = ()
    gguf: bool = False

    @property
    def parameters(self) -> int:
        """How many numbers the model holds, tensors that nothing reads left out."""
        return sum(t.info.count for file in self.tensors.values() for t in file.values())

    def paper(self, name: str) -> str:
        """The text of one of `papers`.

        Raises:
            InvalidWeights: It is not UTF-8.
            LoadFailed: It cannot be read.
        """
        found = self.papers[name]
        return found if isinstance(found, str) else _text(name, found)

    @property
    def precision(self) -> str:
        """The type of most of the language model's numbers, as `Q8_0`."""
        counts: dict[str, int] = {}
        for tensor in self.tensors[layout.GPT].values():
            counts[tensor.info.dtype] = counts.get(tensor.info.dtype, 0) + tensor.info.count
        return max(counts, key=lambda dtype: counts[dtype])


def open_source(files: Mapping[str, Path]) -> Source:
    """The model in these files, by relative path.

    Raises:
        InvalidWeights: A file is missing or damaged, or a tensor is missing, unknown, of another
            shape than the sizes ask for, or of a kind that is not read.
        LoadFailed: A file cannot be read.
    """
    name = gguf_name(files)
    return _open_layout(files) if name is None else _open_gguf(name, files)


def read_config(files: Mapping[str, Path]) -> ChatTTSConfig:
    """The sizes of a model: those that its files tell, or the official ones.

    Raises:
        InvalidWeights: The config is damaged.
    """
    name = gguf_name(files)
    if name is not None:
        return gguf_keys.config_of(check_gguf(files[name], name), name)
    if layout.CONFIG not in files:
        return ChatTTSConfig()
    return parse_config(_bytes(layout.CONFIG, files[layout.CONFIG]))


def gguf_name(files: Mapping[str, Path]) -> str | None:
    """The one GGUF among a model's files; None where they are of the official layout.

    Raises:
        InvalidWeights: Something lies beside it that it holds itself.
    """
    names = [name for name in files if name.lower().endswith(".gguf")]
    if not names:
        return None
    beside = sorted(files.keys() - {names[0]} - _BESIDE_GGUF)
    if beside:
        raise InvalidWeights(
            f"{names[0]} is a whole model; beside it only {layout.SPEAKERS} is read, "
            f"not {', '.join(beside[:3])}"
        )
    return names[0]


def _open_layout(files: Mapping[str, Path]) -> Source:
    missing = [name for name in layout.REQUIRED if name not in files]
    if missing:
        raise InvalidWeights(f"this is no ChatTTS checkpoint: {', '.join(missing)} missing")
    config = read_config(files)
    tensors = {}
    for file, expected in layout.shapes(config).items():
        if file in files:
            found = check_safetensors(files[file], file).tensors
            _check(file, found, expected, FLOATS)
            tensors[file] = {n: Stored(files[file], found[n], file) for n in expected}
    return Source(
        config=config,
        tensors=tensors,
        tokenizer=_text(layout.TOKENIZER, files[layout.TOKENIZER]),
        speakers=_speakers(files),
        papers={n: path for n, path in files.items() if n.endswith(".json") and n not in OWN},
    )


def _open_gguf(name: str, files: Mapping[str, Path]) -> Source:
    path = files[name]
    header = check_gguf(path, name)
    if header.architecture != gguf_keys.ARCHITECTURE:
        raise InvalidRequest(
            f"unknown type: {name} holds the architecture {header.architecture[:40]!r}, "
            f"which does not speak; allowed: {gguf_keys.ARCHITECTURE}"
        )
    config = gguf_keys.config_of(header, name)
    tensors: dict[str, dict[str, Stored]] = {}
    known = 0
    for file, expected in layout.shapes(config).items():
        prefix = PREFIXES[file]
        found = {n.removeprefix(prefix): t for n, t in header.tensors.items() if _of(n, prefix)}
        known += len(found)
        if found or file in layout.REQUIRED:
            _check(f"{name}: {prefix[:-1]}", found, expected, TYPES.keys())
            tensors[file] = {n: Stored(path, found[n], name) for n in expected}
    if known != len(header.tensors):
        strange = [n for n in header.tensors if not any(_of(n, p) for p in PREFIXES.values())]
        _refuse(name, "holds unknown", strange)
    return Source(
        config=config,
        tensors=tensors,
        tokenizer=gguf_keys.text_of(header, gguf_keys.TOKENIZER_KEY, name),
        speakers={**gguf_keys.speakers_of(header, name), **_speakers(files)},
        papers={
            key.removeprefix(gguf_keys.FILE_PREFIX): value
            for key, value in header.values.items()
            if key.startswith(gguf_keys.FILE_PREFIX) and isinstance(value, str)
        },
        licenses=gguf_keys.texts_of(header, gguf_keys.LICENSES_KEY, name),
        gguf=True,
    )


def _of(name: str, prefix: str) -> bool:
    return name.startswith(prefix)


def _check(
    file: str,
    found: Mapping[str, TensorInfo],
    expected: layout.Shapes,
    kinds: Iterable[str],
) -> None:
    """Names, shapes and kinds of all tensors of a file."""
    _refuse(file, "lacks", expected.keys() - found.keys())
    _refuse(file, "holds unknown", found.keys() - expected.keys() - layout.IGNORED)
    for name, shape in expected.items():
        tensor = found[name]
        if tensor.shape != shape:
            raise InvalidWeights(f"{file}: {name} is {list(tensor.shape)}, not {list(shape)}")
        if tensor.dtype not in kinds:
            allowed = ", ".join(sorted(kinds))
            raise InvalidWeights(f"{file}: {name} is {tensor.dtype}, not one of {allowed}")


def _refuse(file: str, verb: str, names: Iterable[str]) -> None:
    listed = sorted(name[:80] for name in names)
    if listed:
        more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
        raise InvalidWeights(f"{file} {verb} tensors: {', '.join(listed[:3])}{more}")


def _speakers(files: Mapping[str, Path]) -> dict[str, str]:
    """The voices of `speakers.json`, if it is there."""
    if layout.SPEAKERS not in files:
        return {}
    try:
        tree = json.loads(_bytes(layout.SPEAKERS, files[layout.SPEAKERS]))
    except (ValueError, RecursionError) as error:
        raise InvalidWeights(f"{layout.SPEAKERS} is not JSON: {error}") from None
    if not isinstance(tree, dict) or not all(isinstance(v, str) for v in tree.values()):
        raise InvalidWeights(f"{layout.SPEAKERS} must map names to speaker strings")
    return tree


def _text(name: str, path: Path) -> str:
    try:
        return _bytes(name, path).decode()
    except UnicodeDecodeError as error:
        raise InvalidWeights(f"{name} is not UTF-8: {error.reason}") from None


def _bytes(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LoadFailed(f"{name} cannot be read: {error.strerror}") from error
