"""`GET /ui/`: a page that speaks. Its files lie in `page/`; nothing comes from elsewhere."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ollama_tts.options import OPTIONS, Option
from ollama_tts.server.http.reply import json_reply
from ollama_tts.version import __version__

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "html": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
    }
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",  # kept, and asked for again by its mark
    }
)


@dataclass(frozen=True, slots=True)
class _File:
    """One file of the page, and its mark for `If-None-Match`."""

    data: bytes
    media_type: str
    mark: str


def _read() -> Mapping[str, _File]:
    found = {}
    for entry in files(__package__).joinpath("page").iterdir():
        media_type = _TYPES.get(entry.name.rpartition(".")[2])
        if media_type is not None:
            data = entry.read_bytes()
            mark = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
            found[entry.name] = _File(data, media_type, mark)
    return MappingProxyType(found)


_FILES = _read()


async def page(request: Request) -> Response:
    """GET /ui/: the page itself."""
    return _reply(request, "index.html")


async def part(request: Request) -> Response:
    """GET /ui/NAME: a file of the page. There are no others."""
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404)
    return _reply(request, name)


async def about(request: Request) -> Response:  # noqa: ARG001
    """GET /ui/about.json: the version, and the table of options for the page's fields."""
    return json_reply({"version": __version__, "options": [_row(option) for option in OPTIONS]})


def _row(option: Option) -> dict[str, object]:
    return {
        "name": option.name,
        "kind": option.kind,
        "when": option.when,
        "default": option.default,
        "help": option.help,
        "unit": option.unit,
        "minimum": option.minimum,
        "maximum": option.maximum,
        "choices": option.choices,
    }


def _reply(request: Request, name: str) -> Response:
    file = _FILES[name]
    headers = {**_HEADERS, "ETag": file.mark}
    if request.headers.get("if-none-match") == file.mark:
        return Response(None, 304, headers)
    return Response(file.data, headers=headers, media_type=file.media_type)
