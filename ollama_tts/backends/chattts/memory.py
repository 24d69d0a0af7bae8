"""Running out of memory, in our own words."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ollama_tts.errors import OutOfMemory

# How torch's CPU allocators say it; on CUDA there is a class for it.
_SAYINGS = ("can't allocate memory", "not enough memory", "Cannot allocate memory")


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn the libraries' ways of running out of memory into one.

    Raises:
        OutOfMemory: The block ran out of memory; `what` says at what.
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise OutOfMemory(f"out of memory while {what}") from error
    except RuntimeError as error:
        if any(saying in str(error) for saying in _SAYINGS):
            raise OutOfMemory(f"out of memory while {what}") from error
        raise
