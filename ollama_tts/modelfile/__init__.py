"""Modelfiles: text to commands and back, and commands to what a create request needs."""

from ollama_tts.modelfile.convert import (
    CreateParts as CreateParts,
    to_create_request as to_create_request,
)
from ollama_tts.modelfile.grammar import (
    MAX_MODELFILE_BYTES as MAX_MODELFILE_BYTES,
    Command as Command,
    parse as parse,
)
from ollama_tts.modelfile.printer import format as format  # noqa: A004 - the pair of `parse`

__all__ = ["MAX_MODELFILE_BYTES", "Command", "CreateParts", "format", "parse", "to_create_request"]
