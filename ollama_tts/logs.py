"""Logging: one event a line, as text or JSON, with the request id from the context."""

import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TextIO

from typing_extensions import override

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


class _TextFormatter(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        stamp = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        text = _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], record.getMessage())
        line = f"{stamp}Z {record.levelname.lower():7} {record.name} [{request_id.get()}] {text}"
        return line + self._trace(record)

    def _trace(self, record: logging.LogRecord) -> str:
        return "\n" + self.formatException(record.exc_info) if record.exc_info else ""


class _JsonFormatter(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "task_id": request_id.get(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["trace"] = self.formatException(record.exc_info)
        return json.dumps(event)
