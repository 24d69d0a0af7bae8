"""What `show` tells of a ChatTTS model, read from its files' headers."""

from collections.abc import Mapping
from pathlib import Path

from ollama_tts.backends.base import Facts
from ollama_tts.backends.chattts import gguf_keys
from ollama_tts.backends.chattts.sources import PREFIXES, open_source
from ollama_tts.store.tensors import TYPES, TensorInfo


def read_facts(files: Mapping[str, Path]) -> Facts:
    """Sizes, control tokens and tensors; tensors under the names that a GGUF has.

    Raises:
        InvalidRequest: The files are no sound model.
        LoadFailed: A file cannot be read.
    """
    source = open_source(files)
    info: dict[str, object] = {
        "general.file_type": TYPES[source.precision].file_type,
        "general.parameter_count": source.parameters,
        **gguf_keys.sizes(source.config),
        gguf_keys.NAMES_KEY: list(source.speakers),
    }
    tensors = tuple(
        TensorInfo(PREFIXES[file] + name, stored.info.dtype, stored.info.shape,
                   stored.info.start_bytes, stored.info.size_bytes)
        for file, found in source.tensors.items()
        for name, stored in found.items()
    )  # fmt: skip
    return Facts(info, gguf_keys.token_ids(source.tokenizer), tensors)
