"""How an answer of generate and chat is written, by the request's Accept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Form = Literal["ndjson", "sse", "raw"]

_FORMATS: Mapping[str, str] = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/ogg": "opus",
    "audio/opus": "opus",
    "audio/aac": "aac",
    "audio/pcm": "pcm",
    "audio/l16": "pcm",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form of an answer. `audio_format` is None where the request's own option decides."""

    form: Form
    audio_format: str | None = None


_LINES = Wanted("ndjson")


def wanted(accept: str) -> Wanted:
    """The form that an Accept header asks for; whatever is unknown means NDJSON.

    Of several types the one with the highest `q` counts, of equal ones the first.
    """
    best, best_quality = _LINES, 0.0
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        form = _form(name)
        quality = _quality(parameters)
        if form is not None and quality > best_quality:
            best, best_quality = form, quality
    return best


def _form(media_type: str) -> Wanted | None:
    if media_type in _FORMATS:
        return Wanted("raw", _FORMATS[media_type])
    if media_type in {"audio/*", "application/octet-stream"}:
        return Wanted("raw")
    if media_type == "text/event-stream":
        return Wanted("sse")
    known = {"*/*", "application/*", "application/json", "application/x-ndjson"}
    return _LINES if media_type in known else None


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, text = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(1.0, float(text))
            except ValueError:
                return 0.0
    return 1.0
