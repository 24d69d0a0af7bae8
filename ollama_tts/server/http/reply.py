"""Answers that are there as a whole."""

from collections.abc import Mapping

from starlette.responses import Response

from ollama_tts.protocol.codec import encode

JSON = "application/json; charset=utf-8"
PLAIN_JSON = "application/json"
NDJSON = "application/x-ndjson"
SSE = "text/event-stream"


def json_reply(
    value: object,
    status: int = 200,
    *,
    media_type: str = JSON,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """One JSON object, compact and ASCII, without a line feed, as Ollama writes it."""
    return Response(encode(value), status, headers, media_type)


def empty_reply(status: int = 200) -> Response:
    """No body at all."""
    return Response(b"", status)
