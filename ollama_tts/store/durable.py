"""Writing so that a crash leaves the old file or the new one, and failures read as sentences."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ollama_tts.errors import StoreFailed, StoreFull

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def failures(doing: str) -> Iterator[None]:
    """Turn an OSError inside the block into one sentence without a path.

    Raises:
        StoreFull: `could not <doing>: No space left on device`, for example.
        StoreFailed: For any other cause.
    """
    try:
        yield
    except OSError as error:
        kind = StoreFull if error.errno in _FULL else StoreFailed
        raise kind(f"could not {doing}: {error.strerror or 'I/O error'}") from error


def sync_folder(folder: Path) -> None:
    """Make renames and removals inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_beside(path: Path) -> Path:
    """A new name in `path`'s folder that no reader looks at: no valid name begins with a dot."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by a file with these bytes; readers see the old one or the new one.

    Raises:
        OSError: The disk is full or read-only …; nothing has changed then.
    """
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_folder(path: Path, root: Path) -> None:
    """Make `path` and its parents below `root`, each one durable."""
    root.mkdir(parents=True, exist_ok=True)
    missing = []
    folder = path
    while folder != root and not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        sync_folder(new.parent)
