"""API keys, as every door that knows them compares them."""

from collections.abc import Sequence

from ollama_tts.config import ApiKey
from ollama_tts.errors import Unauthorized


def check_key(keys: Sequence[ApiKey], authorization: str) -> str:
    """Whose key a request brings; empty where no keys are asked for, which lets everyone in.

    `authorization` is the header's or metadata's text. It is compared with every key, in constant
    time, so that timing tells nothing.

    Raises:
        Unauthorized: No key, or a wrong one.
    """
    if not keys:
        return ""
    scheme, _, given = authorization.partition(" ")
    offered = given.strip()
    matching = [key.name for key in keys if key.matches(offered)]
    if scheme.lower() != "bearer" or not matching:
        raise Unauthorized(
            "this server needs an API key: Authorization: Bearer KEY (OLLAMA_TTS_API_KEY)"
        )
    return matching[0]
