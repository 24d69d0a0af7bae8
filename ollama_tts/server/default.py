"""The model of doors whose `model` field is optional."""

from ollama_tts.node import Node

FALLBACK = "hibari"


def default_model(node: Node) -> str:
    """`$OLLAMA_TTS_DEFAULT_MODEL`, else the only pulled `chattts`, else `hibari`."""
    if node.settings.default_model:
        return node.settings.default_model
    pulled = [m.name for m in node.store.list() if m.config.model_format == "chattts"]
    if len(pulled) == 1:
        return pulled[0].short
    return FALLBACK


def model_or_default(node: Node, name: str) -> str:
    """The name as it was given, else the default one's.

    Raises:
        ModelNotFound: A name was given, and no such model is there.
        InvalidName: It is none.
    """
    if not name:
        return default_model(node)
    node.models.resolve(name)
    return name
