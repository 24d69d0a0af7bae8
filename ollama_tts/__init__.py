"""An Ollama-compatible server that speaks.

The names below are imported on first use, so that `import ollama_tts` costs next to nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ollama_tts.client import AsyncClient as AsyncClient, Client as Client
    from ollama_tts.version import __version__ as __version__

__all__ = ["AsyncClient", "Client", "__version__"]


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562).

    Raises:
        AttributeError: The package has no such public name.
    """
    if name in {"AsyncClient", "Client"}:
        from ollama_tts import client

        return getattr(client, name)
    if name == "__version__":
        from ollama_tts import version

        return version.__version__
    raise AttributeError(f"module 'ollama_tts' has no attribute {name!r}")
