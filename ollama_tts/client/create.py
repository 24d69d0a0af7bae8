"""A Modelfile as the calls that make a model of it: its files as blobs, then the create request."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ollama_tts import modelfile
from ollama_tts.client.call import Call
from ollama_tts.errors import InvalidModelfile
from ollama_tts.names import Digest
from ollama_tts.protocol.ollama import ProgressResponse

OnProgress = Callable[[ProgressResponse], None]
PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """One file that the server may lack; `name` is how the Modelfile's files call it."""

    name: str
    path: Path
    digest: Digest
    size_bytes: int

    @property
    def question(self) -> Call:
        """Asks whether the server has it: success, or 404."""
        return Call("HEAD", f"/api/blobs/{self.digest}")

    @property
    def call(self) -> Call:
        """The upload; `pieces` are its body."""
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(self.size_bytes),
        }
        return Call("POST", f"/api/blobs/{self.digest}", headers=headers)

    def pieces(self, file: BinaryIO, on_progress: OnProgress | None) -> Iterator[bytes]:
        """The file's bytes from its start, reporting how far they have been taken."""
        file.seek(0)
        completed = 0
        while piece := file.read(PIECE_BYTES):
            yield piece
            completed += len(piece)
            if on_progress is not None:
                on_progress(
                    ProgressResponse(
                        status=f"copying {self.name}",
                        digest=str(self.digest),
                        total=self.size_bytes,
                        completed=completed,
                    )
                )


@dataclass(frozen=True, slots=True)
class Plan:
    """What makes the model: uploads first, then `call`. `warnings` are for a person to read."""

    uploads: tuple[Upload, ...]
    call: Call
    warnings: tuple[str, ...]


def plan(model: str, source: str | Path, quantize: str | None) -> Plan:
    """The calls that make `model` of a Modelfile: its text, or the path of a file.

    Raises:
        InvalidModelfile: It cannot be read, does not parse, or names a file that is not there.
    """
    text, folder = _read(source)
    parts = modelfile.to_create_request(modelfile.parse(text), folder)
    if parts.from_.startswith((".", "/", "~")):
        raise InvalidModelfile(f"FROM {parts.from_}: no such file or folder")
    files, adapters = _uploads(parts.files), _uploads(parts.adapters)
    body: dict[str, object] = {"model": model, **parts.fields()}
    for name, found in (("files", files), ("adapters", adapters)):
        if found:
            body[name] = {path: str(upload.digest) for path, upload in found.items()}
    if quantize:
        body["quantize"] = quantize
    unique = {upload.digest: upload for upload in (*files.values(), *adapters.values())}
    call = Call.json("POST", "/api/create", body)
    return Plan(tuple(unique.values()), call, tuple(parts.warnings))


def _read(source: str | Path) -> tuple[str | bytes, Path]:
    if isinstance(source, str):
        return source, Path.cwd()
    try:
        return source.read_bytes(), source.absolute().parent
    except OSError as error:
        raise InvalidModelfile(f"cannot read the Modelfile {source}: {error.strerror}") from error


def _uploads(files: Mapping[str, Path]) -> dict[str, Upload]:
    return {name: _upload(name, path) for name, path in files.items()}


def _upload(name: str, path: Path) -> Upload:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Upload(name, path, Digest.parse(f"sha256:{digest}"), file.tell())
