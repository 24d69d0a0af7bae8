"""The one table from error to status, and the two bodies: Ollama's and OpenAI's."""

import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ollama_tts import errors, logs
from ollama_tts.protocol.codec import encode_line
from ollama_tts.server.http.reply import JSON, PLAIN_JSON, json_reply
from ollama_tts.server.reasons import text_of

log = logging.getLogger(__name__)

STATUS: Mapping[type[errors.OllamaTTSError], int] = {
    errors.InvalidRequest: 400,
    errors.TooLarge: 413,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.TooMany: 429,
    errors.Busy: 503,
    errors.OutOfMemory: 507,
    errors.StoreFull: 507,
    errors.DeadlineExceeded: 504,
    errors.Cancelled: 499,
    errors.OllamaFailed: 502,
    errors.Failed: 500,
    errors.OllamaTTSError: 500,
}


class InvalidField(errors.InvalidRequest):
    """One field of an OpenAI request is wrong; `param` is its name."""

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = param


class BodyTimeout(errors.InvalidRequest):
    """The body did not come in time (408)."""


class Refused(errors.InvalidRequest):
    """An answer of Ollama's whose status no cause of ours has."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def status_of(error: errors.OllamaTTSError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, BodyTimeout):
        return 408
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_body(error: Exception, path: str) -> dict[str, object]:
    """The body for a path: `{"error": text}`, under /v1 OpenAI's object."""
    status = status_of(error) if isinstance(error, errors.OllamaTTSError) else 500
    param = error.param if isinstance(error, InvalidField) else None
    missing = isinstance(error, errors.ModelNotFound)
    code = "model_not_found" if missing else None
    return _body(text_of(error), status, path, param=param, code=code)


def _body(
    text: str, status: int, path: str, *, param: str | None = None, code: str | None = None
) -> dict[str, object]:
    if not is_openai(path):
        return {"error": text}
    kind = {404: "not_found_error", 401: "authentication_error", 429: "rate_limit_error"}.get(
        status, "invalid_request_error" if 400 <= status < 499 else "api_error"
    )
    return {"error": {"message": text, "type": kind, "param": param, "code": code}}


def is_openai(path: str) -> bool:
    """Whether errors under this path have OpenAI's shape."""
    return path.startswith("/v1/")


def refusal(error: Exception, path: str) -> Response:
    """The whole response to an error that came before anything was sent."""
    status = status_of(error) if isinstance(error, errors.OllamaTTSError) else 500
    media_type = PLAIN_JSON if is_openai(path) else JSON
    return json_reply(
        error_body(error, path), status, media_type=media_type, headers=_headers(error)
    )


def _headers(error: Exception) -> dict[str, str]:
    if isinstance(error, errors.Busy):
        return {"Retry-After": str(error.retry_after_s)}
    if isinstance(error, errors.Unauthorized):
        return {"WWW-Authenticate": "Bearer"}
    return {}


async def on_error(request: Request, error: Exception) -> Response:
    """Starlette's handler for our own errors."""
    if isinstance(error, errors.Failed | errors.OutOfMemory):
        log.error("%s %s failed: %s", request.method, request.url.path, logs.told(error))
    return refusal(error, request.url.path)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Starlette's handler for unknown routes and wrong methods, in Ollama's words, as JSON."""
    assert isinstance(error, HTTPException)
    words = {404: "404 page not found", 405: "405 method not allowed"}
    text = words.get(error.status_code, error.detail)
    body = _body(text, error.status_code, request.url.path)
    return json_reply(body, error.status_code, headers=error.headers)


def log_unknown(error: Exception) -> None:
    """One log line, with its trace, for what nobody foresaw; the caller reads only `INTERNAL`."""
    if isinstance(error, errors.DeadlineExceeded):
        log.warning("given up: %s", error)
        return
    log.error("unforeseen %s", type(error).__name__, exc_info=error)


def error_line(error: Exception) -> bytes:
    """An error after the first line of a stream: its last line, under status 200."""
    return encode_line({"error": text_of(error)})
