"""`Shelf`: the manifest files on disk, found in any case, replaced in one step."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ollama_tts.errors import InvalidName, InvalidRequest, ModelNotFound, StoreFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.store.durable import failures, make_folder, sync_folder, write_atomically
from ollama_tts.store.layout import Layout
from ollama_tts.store.manifests import MAX_MANIFEST_BYTES, Manifest, parse_manifest

_log = logging.getLogger(__name__)
_DIGESTS = re.compile(rb"sha256[:-]([0-9a-fA-F]{64})")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one version of a manifest file from the next."""

    inode: int
    modified_ns: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Shelved:
    """One manifest as it lies on disk, under the name as it is spelled there."""

    name: ModelName
    manifest: Manifest
    digest: Digest
    data: bytes
    modified_at: datetime


class Shelf:
    """The manifests of one store. Mutations are for the holder of the store's lock."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._warned: set[tuple[ModelName, Stamp]] = set()

    def spelled(self, name: ModelName) -> ModelName:
        """`name` with each part spelled as it is on disk already, where it is."""
        if _is_file(self._layout.manifest(name)):
            return name
        folder = self._layout.manifests
        parts = []
        for part in name.parts:
            spelled = _spelling(folder, part)
            parts.append(spelled)
            folder = folder / spelled
        host, namespace, model, tag = parts
        return ModelName(model, tag, namespace, host, name.scheme)

    def stamp(self, name: ModelName) -> Stamp:
        """What this spelling's file looks like now.

        Raises:
            ModelNotFound: There is none.
        """
        try:
            stat = self._layout.manifest(name).stat()
        except OSError as error:
            raise not_found(name) from error
        return Stamp(stat.st_ino, stat.st_mtime_ns, stat.st_size)

    def read(self, name: ModelName) -> Shelved:
        """The manifest of this spelling.

        Raises:
            ModelNotFound: There is none.
            StoreFailed: It is there, and damaged or unreadable.
        """
        data, modified_at = self._bytes(name)
        try:
            manifest = parse_manifest(data)
        except InvalidRequest as error:
            raise StoreFailed(f"model '{name.short}' cannot be read: {error}") from error
        return Shelved(name, manifest, Digest.of(data), data, modified_at)

    def _bytes(self, name: ModelName) -> tuple[bytes, datetime]:
        try:
            with self._layout.manifest(name).open("rb") as file:
                modified_at = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
                return file.read(MAX_MANIFEST_BYTES + 1), modified_at
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise not_found(name) from error
        except OSError as error:
            raise StoreFailed(f"model '{name.short}' cannot be read: {error.strerror}") from error

    def names(self) -> Iterator[ModelName]:
        """Every name that has a manifest file, readable or not, in no certain order."""
        for host in _children(self._layout.manifests):
            for namespace in _children(host):
                for model in _children(namespace):
                    for tag in _children(model):
                        name = _name_of(tag)
                        if name is not None and _is_file(tag):
                            yield name

    def references(self) -> set[Digest]:
        """Every digest that any manifest mentions.

        Damaged manifests count with whatever digests can be made out in them: a blob is only
        free when nothing speaks for it.
        """
        found: set[Digest] = set()
        for name in self.names():
            with suppress(ModelNotFound):
                data, _ = self._bytes(name)
                found.update(Digest(match[1].decode().lower()) for match in _DIGESTS.finditer(data))
        return found

    def write(self, name: ModelName, data: bytes) -> None:
        """Put a manifest in place, over an old one if there is one.

        Raises:
            StoreFailed: Disk full, read-only …
        """
        path = self._layout.manifest(name)
        with failures(f"write the manifest of '{name.short}'"):
            make_folder(path.parent, self._layout.root)
            write_atomically(path, data)

    def remove(self, name: ModelName) -> None:
        """Remove a manifest and the folders that are empty without it.

        Raises:
            ModelNotFound: There is none.
            StoreFailed: It is there and cannot be removed.
        """
        path = self._layout.manifest(name)
        if not _is_file(path):
            raise not_found(name)
        with failures(f"remove the manifest of '{name.short}'"):
            path.unlink()
            sync_folder(path.parent)
        self._remove_empty(path.parent)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self._layout.manifests:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    def warn_once(self, name: ModelName, error: Exception) -> None:
        """Log that a model is skipped, once for each version of its manifest."""
        with suppress(ModelNotFound):
            key = (name, self.stamp(name))
            if key not in self._warned:
                self._warned.add(key)
                _log.warning("skipping model %s: %s", name.short, error)


def not_found(name: ModelName) -> ModelNotFound:
    """The error for a model that is not in the store, in Ollama's words."""
    return ModelNotFound(f"model '{name.short}' not found")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for this file system
        return False


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _name_of(path: Path) -> ModelName | None:
    """The name whose manifest lies at `path`; None for files that are no manifest."""
    host, namespace, model, tag = path.parts[-4:]
    with suppress(InvalidName):
        name = ModelName.parse(f"{host}/{namespace}/{model}:{tag}")
        if name.parts == (host, namespace, model, tag):
            return name
    return None


def _spelling(folder: Path, part: str) -> str:
    """`part` as an entry of `folder` spells it; `part` itself where none does."""
    folded = part.lower()
    same = sorted(child.name for child in _children(folder) if child.name.lower() == folded)
    return part if not same or part in same else same[0]
