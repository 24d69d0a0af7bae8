"""API keys, as every door that knows them compares them."""

import hmac
from collections.abc import Sequence

from ollama_tts.errors import Unauthorized


def check_key(keys: Sequence[str], authorization: str) -> None:
    """Compare with every key, in constant time, so that timing tells nothing.

    `authorization` is the header's or metadata's text; no keys let everyone in.

    Raises:
        Unauthorized: No key, or a wrong one.
    """
    if not keys:
        return
    scheme, _, given = authorization.partition(" ")
    offered = given.strip().encode("utf-8", "replace")
    matches = [hmac.compare_digest(offered, key.encode()) for key in keys]
    if scheme.lower() != "bearer" or not any(matches):
        raise Unauthorized(
            "this server needs an API key: Authorization: Bearer KEY (OLLAMA_TTS_API_KEY)"
        )
