"""What one request may cost: the one table of sizes and times, a row a route.

`ROUTES` names a row for each route, `Guard` enforces it, docs/limits.md is made from it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ollama_tts.config import Settings

QUICK_S = 60.0
NO_BODY_BYTES = 64 * 1024
BLOB_PROGRESS_BYTES = 64 * 1024
"""Of an upload so much must come in each `body_timeout_s`, else it is given up."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One row of the table. `body` and `time` say which setting or constant holds.

    `body`: `none` (64 KiB, unread), `json`, or `blob`. `time`, from the request's head to the
    last byte of its answer: `quick` (60 s) or `work` (`request_timeout_s`).
    """

    body: str
    time: str

    def body_bytes(self, settings: Settings) -> int:
        """Most bytes of a body."""
        return {
            "none": NO_BODY_BYTES,
            "json": settings.max_json_bytes,
            "blob": settings.max_blob_bytes,
        }[self.body]

    def body_within_s(self, settings: Settings) -> float:
        """How long the body may take; of a blob, each 64 KiB of it."""
        return settings.body_timeout_s

    def answer_s(self, settings: Settings) -> float:
        """How long the request may take in all; infinite where the operator says so."""
        return QUICK_S if self.time == "quick" else settings.request_timeout_s or math.inf


LOOK = Limit("none", "quick")
ASK = Limit("json", "quick")
WORK = Limit("json", "work")
UPLOAD = Limit("blob", "work")
UNKNOWN = LOOK
"""Of paths that no route has: they are answered 404."""


class Limits:
    """Finds a request's row. `rows`: verbs and path of each route, a parameter at the end."""

    def __init__(self, rows: Iterable[tuple[str, str, Limit]]) -> None:
        self._exact: dict[tuple[str, str], Limit] = {}
        self._below: dict[tuple[str, str], Limit] = {}
        for verbs, path, limit in rows:
            start, parameter, _ = path.partition("{")
            for verb in verbs.split():
                (self._below if parameter else self._exact)[verb, start] = limit

    def of(self, method: str, path: str) -> Limit:
        """The limit of a request; `UNKNOWN` where no route takes it."""
        if (method, path) in self._exact:
            return self._exact[method, path]
        below = {start: limit for (verb, start), limit in self._below.items() if verb == method}
        fitting = [start for start in below if path.startswith(start)]
        return below[max(fitting, key=len)] if fitting else UNKNOWN
