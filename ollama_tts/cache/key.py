"""The key of a spoken utterance: everything that is heard, and nothing else."""

import hashlib
import json
from collections.abc import Mapping

from ollama_tts.version import __version__

VERSION = 1
"""Counts up when the same settings come to sound different within one release."""


def sound_key(heard: Mapping[str, object]) -> str:
    """64 hex digits that stand for everything in `heard` (names to JSON values)."""
    text = json.dumps({"version": VERSION, "program": __version__, **heard}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
