"""One table from error to status; two bodies."""

import json
from collections.abc import Iterator

import pytest

from ollama_tts import errors
from ollama_tts.server.http.errors import (
    BodyTimeout,
    InvalidField,
    Refused,
    error_line,
    refusal,
    status_of,
)
from ollama_tts.server.reasons import MAX_TEXT_CHARS


def all_kinds(kind: type[errors.OllamaTTSError]) -> Iterator[type[errors.OllamaTTSError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from all_kinds(below)


def test_every_error_of_the_package_has_a_status() -> None:
    for kind in all_kinds(errors.OllamaTTSError):
        error = kind.__new__(kind)
        if not isinstance(error, Refused):
            assert 400 <= status_of(error) < 600


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidName("x"), 400),
        (errors.InvalidOption("x"), 400),
        (errors.UnspeakableText("x"), 400),
        (errors.Unauthorized("x"), 401),
        (errors.Forbidden("x"), 403),
        (errors.ModelNotFound("x"), 404),
        (errors.BlobNotFound("x"), 404),
        (BodyTimeout("x"), 408),
        (errors.TooLarge("x"), 413),
        (errors.Cancelled("x"), 499),
        (errors.EngineDead("x"), 500),
        (errors.UpstreamFailed("x"), 500),
        (errors.Busy("x"), 503),
        (Refused("x", 503), 503),
        (errors.DeadlineExceeded("x"), 504),
        (errors.OutOfMemory("x"), 507),
    ],
)
def test_statuses(error: errors.OllamaTTSError, status: int) -> None:
    assert status_of(error) == status
    response = refusal(error, "/api/generate")
    assert response.status_code == status
    assert json.loads(bytes(response.body)) == {"error": "x"}


def test_busy_says_when_to_come_again() -> None:
    assert refusal(errors.Busy("x", 7), "/api/generate").headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("error", "kind", "param", "code"),
    [
        (InvalidField("x", "speed"), "invalid_request_error", "speed", None),
        (errors.TooLarge("x"), "invalid_request_error", None, None),
        (errors.Unauthorized("x"), "authentication_error", None, None),
        (errors.ModelNotFound("x"), "not_found_error", None, "model_not_found"),
        (errors.Busy("x"), "api_error", None, None),
        (errors.Cancelled("x"), "api_error", None, None),
    ],
)
def test_openais_body(
    error: errors.OllamaTTSError, kind: str, param: str | None, code: str | None
) -> None:
    response = refusal(error, "/v1/audio/speech")
    assert response.headers["content-type"] == "application/json"
    assert json.loads(bytes(response.body)) == {
        "error": {"message": "x", "type": kind, "param": param, "code": code}
    }


def test_an_unknown_error_tells_nothing() -> None:
    response = refusal(RuntimeError("/home/someone/secret"), "/api/generate")
    assert response.status_code == 500
    assert json.loads(bytes(response.body)) == {"error": "internal error"}
    assert error_line(RuntimeError("secret")) == b'{"error":"internal error"}\n'


def test_a_text_without_end_is_cut() -> None:
    body = json.loads(bytes(refusal(errors.InvalidOption("x" * 5000), "/").body))
    assert len(body["error"]) == MAX_TEXT_CHARS
    assert body["error"].endswith("...")
