"""The voices of a stored model, for the lists of every door."""

import logging

from ollama_tts.backends.base import Voice
from ollama_tts.errors import InvalidRequest, LoadFailed
from ollama_tts.node import Node
from ollama_tts.store.model import LocalModel

log = logging.getLogger(__name__)


def known_voices(node: Node, model: LocalModel) -> tuple[Voice, ...]:
    """The voices of a model; none where its files are damaged, which is told when it speaks.

    Reads the headers of its files: to be called in a thread.
    """
    try:
        return node.catalog.voices_of(model)
    except (InvalidRequest, LoadFailed) as error:
        log.warning("%s: its voices cannot be listed: %s", model.name.short, error)
        return ()
