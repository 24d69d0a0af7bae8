"""Where things lie under the models folder: the same tree as Ollama's (manifest/paths.go).

    manifests/<host>/<namespace>/<model>/<tag>     one JSON file per model
    blobs/sha256-<64 hex>                          content-addressed files
    **/.<name>.<random>.tmp                        being written; no name may begin with a dot
    packages.json                                  which package voices were put here once
    .lock                                          held while manifests or blobs change

Names bound to files are parsed types, so nothing can lie outside the folder.
"""

from dataclasses import dataclass
from pathlib import Path

from ollama_tts.names import Digest, ModelName

TEMPORARY = ".*.tmp"


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths below one models folder; nothing here touches the disk."""

    root: Path

    @property
    def blobs(self) -> Path:
        """The folder of blobs."""
        return self.root / "blobs"

    @property
    def manifests(self) -> Path:
        """The folder of manifests."""
        return self.root / "manifests"

    @property
    def packages(self) -> Path:
        """The record of package voices that were installed once."""
        return self.root / "packages.json"

    @property
    def lock(self) -> Path:
        """The file that mutations lock."""
        return self.root / ".lock"

    def blob(self, digest: Digest) -> Path:
        """Where the blob of this digest lies, whether or not it is there."""
        return self.blobs / digest.filename

    def manifest(self, name: ModelName) -> Path:
        """Where the manifest of this very spelling lies, whether or not it is there."""
        return self.manifests.joinpath(*name.parts)
