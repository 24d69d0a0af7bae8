"""What uploaded model files are, seen before anything is made of them.

Headers only: no tensor is loaded, and nothing that could run code is ever opened.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np

from ollama_tts.backends.chattts.clip import is_recording, read_mono, text_beside
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.layout import REQUIRED
from ollama_tts.backends.chattts.lora_files import lora_names, plan_lora
from ollama_tts.backends.chattts.sources import gguf_name, open_source, read_config
from ollama_tts.backends.chattts.voices import VoiceBook
from ollama_tts.errors import InvalidRequest, InvalidWeights
from ollama_tts.store import manifests
from ollama_tts.store.gguf import MAGIC, check_gguf
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.safetensors import check_safetensors

MAX_JSON_BYTES = 16 * 1024 * 1024
_PICKLES = frozenset({".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
# In files of the official layout; those of a GGUF are shown as Ollama shows them.
_PRECISIONS = {"F32": "fp32", "F16": "fp16", "BF16": "bf16"}
_GPT_FILES = (("asset/gpt/model.safetensors", ""), ("gpt/model.safetensors", "asset/"))


def media_type(name: str, path: Path) -> str:
    """The layer type of a model's file.

    Raises:
        InvalidRequest: `unknown type`: it is no kind of file that a voice is made of.
        InvalidWeights: It is a pickle.
    """
    start = _start(path)
    refuse_pickle(name, start)
    if start.startswith(MAGIC):
        return manifests.MODEL
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".gguf":
        raise InvalidWeights(f"supplied file was not in GGUF format: {name}")
    if suffix not in {".json", ".safetensors"}:
        raise InvalidRequest(f"unknown type: {name} is neither .safetensors, .gguf nor .json")
    return manifests.JSON_FILE if suffix == ".json" else manifests.FILE


def refuse_pickle(name: str, start: bytes) -> None:
    """Refuse files whose reading could run code; `start` is the file's first bytes.

    Raises:
        InvalidWeights: A pickle, or an archive that torch would look for one in.
    """
    looks_pickled = start[:1] == b"\x80" and start[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}
    if looks_pickled or start[:2] == b"PK" or PurePosixPath(name).suffix.lower() in _PICKLES:
        raise InvalidWeights(
            f"{name} is a pickle or an archive: opening it could run code; "
            "convert it to safetensors"
        )


def check_adapter(name: str, path: Path) -> None:
    """Refuse adapters that are damaged weights or could run code.

    Raises:
        InvalidWeights: With what is wrong.
    """
    start = _start(path)
    refuse_pickle(name, start)
    if start.startswith(MAGIC):
        check_gguf(path, name)
    elif PurePosixPath(name).suffix.lower() == ".safetensors":
        check_safetensors(path, name)


def check_adapters(files: Mapping[str, Path], adapters: Mapping[str, Path]) -> None:
    """Refuse adapters that a chattts model of these files cannot speak with.

    Raises:
        InvalidWeights: A LoRA that does not fit the model, or a file that is no voice; its name
            and what is wrong with it.
    """
    config = read_config(files)
    plan_lora(adapters, config)
    for name, path in adapters.items():
        if PurePosixPath(name).suffix.lower() == ".gguf":
            raise InvalidWeights(f"{name}: a LoRA is read from PEFT's safetensors, not from GGUF")
        if is_recording(name):
            read_mono(path, name)
            text_beside(name, adapters)
    lora = lora_names(adapters)
    voices = {name: path for name, path in adapters.items() if name not in lora}
    VoiceBook(config, {}, voices, lambda _: np.empty((0, 0), np.int32))


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)


def in_official_places(names: Mapping[str, object]) -> dict[str, str]:
    """Given name → place in ChatTTS's official layout, for checkpoints packed one folder off."""
    for tail, prefix in _GPT_FILES:
        found = [name for name in names if name == tail or name.endswith("/" + tail)]
        if found:
            root = min(found, key=len).removesuffix(tail)
            return {name: _place(name, root, prefix) for name in names}
    return {name: name for name in names}


def _place(name: str, root: str, prefix: str) -> str:
    if not name.startswith(root):
        return name
    inner = name[len(root) :]
    return inner if inner.endswith(".json") and "/" not in inner else prefix + inner


def inspect(files: Mapping[str, Path]) -> ModelConfig:
    """The config of a model of these files, once each was found sound.

    Raises:
        InvalidRequest: `unknown type`: together they are no model that is spoken here.
        InvalidWeights: A file is damaged or hostile.
    """
    types = {name: media_type(name, path) for name, path in files.items()}
    numbers: dict[str, int] = {}
    for name, path in files.items():
        if types[name] == manifests.JSON_FILE:
            check_json(name, path)
        elif types[name] == manifests.FILE:
            for dtype, count in check_safetensors(path, name).numbers.items():
                numbers[dtype] = numbers.get(dtype, 0) + count
    if manifests.MODEL in types.values():
        source = open_source(files)
        return _config(source.config, source.parameters, source.precision)
    _need_all(files)
    largest = max(numbers, key=lambda dtype: numbers[dtype], default="")
    precision = _PRECISIONS.get(largest, largest.lower())
    return _config(read_config(files), sum(numbers.values()), precision)


def _config(sizes: ChatTTSConfig, parameters: int, precision: str) -> ModelConfig:
    return ModelConfig(
        model_format="chattts",
        model_family="chattts",
        parameter_size=human_number(parameters),
        quantization=precision,
        context_length=sizes.gpt.max_position_embeddings,
        embedding_length=sizes.gpt.hidden_size,
        info={"general.parameter_count": parameters},
    )


def licenses(files: Mapping[str, Path]) -> tuple[str, ...]:
    """The licences that a GGUF among these files brings."""
    return open_source(files).licenses if gguf_name(files) else ()


def check_json(name: str, path: Path) -> bytes:
    """The bytes of a JSON file, once it was seen to be one.

    Raises:
        InvalidWeights: Too large, too deep, or no JSON.
    """
    if path.stat().st_size > MAX_JSON_BYTES:
        raise InvalidWeights(f"{name} is larger than {MAX_JSON_BYTES} bytes")
    data = path.read_bytes()
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidWeights(f"{name} is not JSON: {error}") from error
    return data


def _need_all(files: Mapping[str, Path]) -> None:
    missing = [name for name in REQUIRED if name not in files]
    if missing:
        raise InvalidRequest(
            f"unknown type: no GGUF, and no ChatTTS checkpoint ({', '.join(missing)} missing)"
        )


def human_number(count: int) -> str:
    """A count as Ollama writes it: `334.08M`, `1.2B`, `12K`."""
    for unit, factor, digits in (("B", 10**9, 1), ("M", 10**6, 2), ("K", 10**3, 0)):
        if count >= factor:
            exact = count % factor == 0
            return f"{count / factor:.{0 if exact else digits}f}{unit}"
    return str(count)
