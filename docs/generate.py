"""Renders the documents that are made from tables in the code.

`python docs/generate.py` writes them; `--check` tells what is out of date and exits with 1.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from ollama_tts.config import VARIABLES, Settings
from ollama_tts.metrics import Metrics
from ollama_tts.options import OLLAMA_ONLY, OPTIONS, Option
from ollama_tts.server.connection import (
    DRAIN_S,
    KEEP_ALIVE_S,
    MAX_HEADER_BYTES,
    MAX_SOCKET_MESSAGE_BYTES,
)
from ollama_tts.server.http.app import ROUTES
from ollama_tts.server.http.limits import BLOB_PROGRESS_BYTES, Limit
from ollama_tts.server.http.stream import STALL_S
from ollama_tts.server.sockets import FIRST_PROBE_S, PROBE_S, PROBES
from ollama_tts.service.conversation import TURN_CHARS, WAITING_TURNS

HERE = Path(__file__).parent
NOTE = "<!-- Made by docs/generate.py from the tables in the code; do not edit by hand. -->\n"


def options() -> str:
    """docs/options.md, from `ollama_tts.options.OPTIONS`."""
    lines = [
        NOTE,
        "# Options",
        "",
        (
            "One table serves `PARAMETER` (or `SET`) in a Modelfile, the `options` of a request, "
            "`--option k=v` of `ollama-tts run`, and `show`. Request options lie over Modelfile "
            "parameters, which lie over the defaults. Integers may arrive as `3.0`; `null` means "
            "not set. A wrong type or a value out of range is answered 400 and names the option, "
            "the value and what is allowed. An unknown name in a request is ignored with one log "
            "line; in a Modelfile it is refused, with the nearest known name."
        ),
        "",
    ]
    for when, title in (("load", "How a model is loaded"), ("request", "How a request sounds")):
        lines += [
            f"## {title}",
            "",
            "| option | takes | default | what it does |",
            "|---|---|---|---|",
        ]
        lines += [_row(option) for option in OPTIONS if option.when == when]
        lines.append("")
    lines += [
        "`fp16 true` is `quantization fp16`. Ollama's own names that mean nothing to a voice are "
        "taken silently: " + ", ".join(f"`{name}`" for name in sorted(OLLAMA_ONLY)) + ".",
        "",
    ]
    return "\n".join(lines)


def _row(option: Option) -> str:
    names = f"`{option.name}`" + "".join(f", `{alias}`" for alias in option.aliases)
    default = "unset" if option.default is None else f"`{str(option.default).lower()}`"
    unit = f" ({option.unit})" if option.unit else ""
    return f"| {names} | {option.allowed}{unit} | {default} | {option.help} |"


def configuration() -> str:
    """docs/configuration.md, from `ollama_tts.config.VARIABLES`."""
    lines = [
        NOTE,
        "# Configuration",
        "",
        (
            "The server reads these environment variables once, at start. Values may stand in "
            "quotes; a number or duration that cannot be read falls back to the default, an "
            "address that cannot be read stops the start."
        ),
        "",
        "| variable | default | what it does |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{v.name}` | {f'`{v.default}`' if v.default else 'unset'} | {v.help} |"
        for v in VARIABLES
    ]
    return "\n".join([*lines, ""])


def metrics() -> str:
    """docs/metrics.md, from `ollama_tts.metrics.Metrics`."""
    lines = [
        NOTE,
        "# Metrics",
        "",
        (
            "`GET /metrics` gives them in Prometheus' text format. Gauges are read from the live "
            "objects at that moment; each request is counted once, under one of `ok`, "
            "`client_error`, `rejected`, `cancelled`, `failed`."
        ),
        "",
        "| metric | kind | what it is |",
        "|---|---|---|",
    ]
    families = sorted(Metrics().registry.collect(), key=lambda family: family.name)
    for family in families:
        name = family.name + ("_total" if family.type == "counter" else "")
        lines.append(f"| `{name}` | {family.type} | {family.documentation} |")
    return "\n".join([*lines, ""])


def limits() -> str:
    """docs/limits.md, from `ollama_tts.server.http.app.ROUTES` and the doors' constants."""
    settings = Settings()
    lines = [
        NOTE,
        "# Limits of size and time",
        "",
        (
            "What one request may cost, with the default settings. More is refused, 413 for a "
            "size, 408 for a body and 504 for an answer that takes too long; an answer that has "
            "begun ends without its end mark."
        ),
        "",
        "| route | body at most | body within | the whole request within |",
        "|---|---|---|---|",
        *(_limit_row(verbs, path, limit, settings) for verbs, path, limit, _ in ROUTES),
        "",
        (
            "Bodies have the settings `OLLAMA_TTS_MAX_BLOB_BYTES` and, for JSON, 4 MiB (64 MiB "
            "where an upstream Ollama may be sent pictures); 24 h is `OLLAMA_TTS_REQUEST_TIMEOUT`."
        ),
        "",
        "| of every connection | limit |",
        "|---|---|",
        *(f"| {what} | {limit} |" for what, limit in _connection_limits(settings)),
    ]
    return "\n".join([*lines, ""])


def _limit_row(verbs: str, path: str, limit: Limit, settings: Settings) -> str:
    each = f", each {_bytes(BLOB_PROGRESS_BYTES)}" if limit.body == "blob" else ""
    return (
        f"| {verbs.replace(' ', ', ')} `{path}` | {_bytes(limit.body_bytes(settings))} "
        f"| {limit.body_within_s(settings):g} s{each} | {_time(limit.answer_s(settings))} |"
    )


def _connection_limits(settings: Settings) -> list[tuple[str, str]]:
    return [
        (
            "request line and headers",
            f"{_bytes(MAX_HEADER_BYTES)}, within {settings.header_timeout_s:g} s",
        ),
        ("silence between two requests", f"{KEEP_ALIVE_S} s"),
        ("sound that is sent and not read", f"{STALL_S:g} s, then its work is given up"),
        (
            "a peer that vanished without a word",
            f"{FIRST_PROBE_S} s of silence, {PROBES} probes {PROBE_S} s apart; WebSocket: pings",
        ),
        (
            "a message of a WebSocket or of gRPC",
            f"{_bytes(MAX_SOCKET_MESSAGE_BYTES)}; then 1009, RESOURCE_EXHAUSTED",
        ),
        (
            "a turn of a conversation (WebSocket, gRPC, Wyoming)",
            f"{TURN_CHARS:,} characters, {WAITING_TURNS} turns that wait",
        ),
        ("a text in one request", f"{settings.max_text_chars:,} characters"),
        ("a wait for a place", "`OLLAMA_MAX_QUEUE` before it, `OLLAMA_TTS_MAX_WAIT` long"),
        ("a load", "`OLLAMA_LOAD_TIMEOUT`"),
        ("a drain on SIGTERM", f"{DRAIN_S} s"),
    ]


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:g} {unit}"
    return f"{count} bytes"


def _time(seconds: float) -> str:
    return f"{seconds / 3600:g} h" if seconds >= 3600 else f"{seconds:g} s"


PAGES: dict[str, Callable[[], str]] = {
    "options.md": options,
    "configuration.md": configuration,
    "metrics.md": metrics,
    "limits.md": limits,
}


def main(arguments: list[str]) -> int:
    """Write all pages, or with `--check` compare them. Returns the exit status."""
    stale = []
    for name, render in PAGES.items():
        path = HERE / name
        text = render()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(("out of date: " if "--check" in arguments else "wrote ") + name)
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
