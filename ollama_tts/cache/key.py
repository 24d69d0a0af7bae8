"""The key of a spoken utterance: everything that is heard, and nothing else."""

import hashlib
from collections.abc import Mapping

import msgspec

from ollama_tts.version import __version__

VERSION = 2
"""Counts up when the same settings come to sound different within one release."""


def sound_key(heard: Mapping[str, object]) -> str:
    """64 hex digits that stand for everything in `heard` (names to JSON values)."""
    told = {"version": VERSION, "program": __version__, **heard}
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()
