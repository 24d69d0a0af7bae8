"""What an answer to a ranged request holds: where it begins, and how large the whole is."""

import re

import httpx

from ollama_tts.registry.download import Body
from ollama_tts.registry.failures import Refused
from ollama_tts.registry.web import chunks_of

MAX_DIGITS = 18
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")


def range_header(start: int, stop: int | None) -> dict[str, str]:
    """The header that asks for the bytes from `start` up to `stop`."""
    return {"Range": f"bytes={start}-{'' if stop is None else stop - 1}"}


def body_of(response: httpx.Response) -> Body:
    """The body of a 200 (the whole, from 0 on) or a 206 (a part).

    Raises:
        Refused: Another status, or a 206 that does not say which part it is.
    """
    host = response.request.url.host
    if response.status_code == 200:
        text = response.headers.get("Content-Length", "")
        total = int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None
        return Body(0, total, chunks_of(response))
    if response.status_code != 206:
        raise Refused(f"{host} answers {response.status_code} where bytes were asked for")
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    if match is None:
        raise Refused(f"{host} sends a part and does not say which")
    total = None if match[3] == "*" else int(match[3])
    return Body(int(match[1]), total, chunks_of(response))
