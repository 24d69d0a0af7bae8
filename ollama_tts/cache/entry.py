"""One sound as the bytes of one file, and back; and what such a file is called.

    magic 8 | key 32 | model 32 | steps 8 | samples 8 | float32 little-endian … | sha256 32

The sha256 is of everything before it. It finds damage, and the key in the file finds a file that
was put in another's place; neither stops who may write into the folder and means harm.
"""

import hashlib
import os
import re
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ollama_tts.cache.sound import Sound

_HEADER = struct.Struct("<8s32s32sqq")
_MAGIC = b"otts-sn2"
_DIGEST_BYTES = 32
_KEY = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = re.compile(r"[0-9a-f]{64}\.new")


@dataclass(frozen=True, slots=True)
class Label:
    """What a file says of itself: the key, the model's digest in hex, its whole length."""

    key: str
    model: str
    size_bytes: int


def is_entry(name: str) -> bool:
    """Whether a file of this name is a whole sound of ours."""
    return _KEY.fullmatch(name) is not None


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is one of ours that was being written."""
    return _UNFINISHED.fullmatch(name) is not None


def encode(key: str, sound: Sound) -> bytes:
    """The file of a sound; `key` is 64 hex digits."""
    samples = np.ascontiguousarray(sound.samples, "<f4")
    ids = bytes.fromhex(key), bytes.fromhex(sound.model)
    body = _HEADER.pack(_MAGIC, *ids, sound.steps, len(samples)) + samples.tobytes()
    return body + hashlib.sha256(body).digest()


def decode(key: str, data: bytes) -> Sound | None:
    """The sound in a file; None where it is damaged, cut short or of another key."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    label = read_label(body)
    if label is None or label.key != key or label.size_bytes != len(data):
        return None
    if hashlib.sha256(body).digest() != digest:
        return None
    steps = _HEADER.unpack_from(body)[3]
    return Sound(np.frombuffer(body, "<f4", offset=_HEADER.size), steps, label.model)


def read_label(start: bytes) -> Label | None:
    """What the first `LABEL_BYTES` of a file say; None where it is no sound."""
    if len(start) < _HEADER.size:
        return None
    magic, key, model, steps, count = _HEADER.unpack_from(start)
    if magic != _MAGIC or count < 0 or steps < 0:
        return None
    owner = "" if not any(model) else model.hex()
    return Label(key.hex(), owner, _HEADER.size + 4 * count + _DIGEST_BYTES)


LABEL_BYTES = _HEADER.size


def read(path: Path, most_bytes: int) -> bytes | None:
    """The first `most_bytes` of a plain file; None where there is no file.

    Raises:
        OSError: It cannot be read, or is no plain file (a link, a pipe, a folder).
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(handle, "rb") as file:  # noqa: PTH123  # a descriptor, not a path
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise IsADirectoryError(f"not a plain file: {path.name}")
        return file.read(most_bytes)
