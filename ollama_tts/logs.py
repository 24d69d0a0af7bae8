"""Logging: one event a line, as text or JSON, with the request id from the context.

What a caller wrote is in no line above level debug: errors that may quote it are named by their
kind alone (`told`), and traces come without their errors' words.
"""

import json
import logging
import re
import sys
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TextIO

from typing_extensions import override

from ollama_tts.errors import GenerationFailed, InvalidRequest, OllamaTTSError

request_id: ContextVar[str] = ContextVar("request_id", default="-")


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What could move a terminal's cursor, colour it, or forge a line."""


def set_up(*, debug: bool, style: str, stream: TextIO = sys.stderr) -> None:
    """Log this package and uvicorn's errors to `stream`; calling again replaces the handler."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter() if style == "json" else _TextFormatter())
    for name in ("ollama_tts", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.DEBUG if debug and name == "ollama_tts" else logging.INFO)


def log_level(*, debug: bool) -> Literal["debug", "info"]:
    """Uvicorn's own level for these settings."""
    return "debug" if debug else "info"


def told(error: BaseException) -> str:
    """What a line says of an error: its kind, and its words where they cannot be a caller's."""
    kind = type(error).__name__
    ours = isinstance(error, OllamaTTSError)
    quoting = not ours or isinstance(error, InvalidRequest | GenerationFailed)
    return kind if quoting and not _debugging() else f"{kind}: {error}"


def figures(values: Mapping[str, object]) -> dict[str, object]:
    """`extra` of a line with values of its own: members in JSON, `name=value` in text."""
    return {"figures": values}


def _debugging() -> bool:
    return logging.getLogger("ollama_tts").isEnabledFor(logging.DEBUG)


def _figures(record: logging.LogRecord) -> Mapping[str, object]:
    found: Mapping[str, object] = getattr(record, "figures", {})
    return found


def _trace(error: BaseException | None) -> str:
    """Where an error came from, and what that came from; its words at level debug alone."""
    if error is None:
        return ""
    if _debugging():
        return "".join(traceback.format_exception(error)).rstrip()
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    frames = "".join(traceback.format_tb(error.__traceback__))
    here = f"Traceback (most recent call last):\n{frames}{type(error).__name__}"
    return f"{_trace(earlier)}\n\n{here}" if earlier else here


class _TextFormatter(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        stamp = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        text = _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], record.getMessage())
        text += "".join(f" {name}={value}" for name, value in _figures(record).items())
        line = f"{stamp}Z {record.levelname.lower():7} {record.name} [{request_id.get()}] {text}"
        return f"{line}\n{_trace(record.exc_info[1])}" if record.exc_info else line


class _JsonFormatter(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "task_id": request_id.get(),
            "message": record.getMessage(),
            **_figures(record),
        }
        if record.exc_info:
            event["trace"] = _trace(record.exc_info[1])
        return json.dumps(event)
