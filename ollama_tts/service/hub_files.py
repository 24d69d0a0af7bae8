"""Which files of a hub repository make a voice: ChatTTS's layout, or one GGUF."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from ollama_tts.backends.chattts.layout import CONFIG, REQUIRED, SPEAKERS
from ollama_tts.errors import ModelNotFound, UpstreamFailed
from ollama_tts.names import DEFAULT_TAG, Digest
from ollama_tts.registry.hub import HubFile, Snapshot
from ollama_tts.service.parameters import quantization_of_tag

_FOLDERS: Mapping[str, frozenset[str]] = {
    "asset": frozenset({".safetensors"}),
    "asset/gpt": frozenset({".safetensors", ".json"}),
    "asset/tokenizer": frozenset({".json"}),
}


def revision_of(tag: str) -> str:
    """The revision that a tag means: precisions and `latest` are of the main branch."""
    return "main" if tag == DEFAULT_TAG or quantization_of_tag(tag) else tag


def chosen_files(snapshot: Snapshot, tag: str) -> Sequence[HubFile]:
    """The files to fetch.

    Raises:
        UpstreamFailed: The repository holds no voice that is spoken here.
        ModelNotFound: It holds several GGUF files, and the tag names none of them.
    """
    layout = [file for file in snapshot.files if _belongs(file.path)]
    if {file.path for file in layout}.issuperset(REQUIRED):
        return layout
    gguf = [file for file in snapshot.files if file.path.lower().endswith(".gguf")]
    if not gguf:
        missing = sorted(set(REQUIRED) - {file.path for file in layout})
        raise UpstreamFailed(
            f"{snapshot.repository} has neither ChatTTS's layout ({', '.join(missing)} missing) "
            "nor a .gguf file"
        )
    return [_of_tag(gguf, tag, snapshot.repository)]


def pinned(snapshot: Snapshot, hashes: Mapping[str, Digest]) -> Sequence[HubFile]:
    """The files of a catalogue entry, with the hashes that it demands."""
    sizes = {file.path: file.size_bytes for file in snapshot.files}
    return [HubFile(path, sizes.get(path), digest) for path, digest in hashes.items()]


def _belongs(path: str) -> bool:
    if path in {CONFIG, SPEAKERS}:
        return True
    found = PurePosixPath(path)
    return found.suffix in _FOLDERS.get(str(found.parent), frozenset())


def _of_tag(files: Sequence[HubFile], tag: str, repository: str) -> HubFile:
    if len(files) == 1:
        return files[0]
    named = [file for file in files if tag.lower() in file.path.lower()]
    if len(named) == 1 and tag != DEFAULT_TAG:
        return named[0]
    listed = ", ".join(file.path for file in files[:12])
    raise ModelNotFound(
        f"file does not exist: {repository} holds several .gguf files, and the tag '{tag}' names "
        f"none of them alone: {listed}"
    )
