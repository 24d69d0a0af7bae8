"""Sizes, times and tables as `ollama` prints them (its format/bytes.go and format/time.go)."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

_UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
_ZERO_YEAR = 1


def size(size_bytes: int) -> str:
    """A size in decimal units: `4.7 GB`, `986 MB`, `12 B`."""
    for unit_bytes, unit in _UNITS:
        if size_bytes >= unit_bytes:
            value = size_bytes / unit_bytes
            rounded = value >= 10 or value == math.trunc(value)
            return f"{int(value)} {unit}" if rounded else f"{value:.1f} {unit}"
    return f"{size_bytes} B"


def lasting(duration: timedelta) -> str:
    """A length of time in words: `About an hour`, `3 weeks`."""
    seconds = int(duration.total_seconds())
    minutes, hours = seconds // 60, round(seconds / 3600)
    if seconds < 60:
        return ("Less than a second", "1 second")[seconds] if seconds < 2 else f"{seconds} seconds"
    if hours < 1 or minutes < 60:
        return "About a minute" if minutes == 1 else f"{minutes} minutes"
    if hours < 48:
        return "About an hour" if hours == 1 else f"{hours} hours"
    for limit, unit, name in ((24 * 14, 24, "days"), (24 * 60, 24 * 7, "weeks")):
        if hours < limit:
            return f"{hours // unit} {name}"
    if hours < 24 * 365 * 2:
        return f"{hours // (24 * 30)} months"
    return f"{hours // (24 * 365)} years"


def ago(moment: datetime, now: datetime, *, never: str = "Never") -> str:
    """A moment as seen from now: `3 weeks ago`, `4 minutes from now`, `Forever`.

    A moment in the year 1, Go's zero time, gives `never`.
    """
    if moment.year <= _ZERO_YEAR:
        return never
    if moment - now > timedelta(days=365 * 20):
        return "Forever"
    if moment > now:
        return f"{lasting(moment - now)} from now"
    return f"{lasting(now - moment)} ago"


def processor(size_bytes: int, vram_bytes: int) -> str:
    """Where a loaded model lies, as `ps` says it: `100% GPU`, `100% CPU`, `41%/59% CPU/GPU`."""
    if vram_bytes == 0:
        return "100% CPU"
    if vram_bytes == size_bytes:
        return "100% GPU"
    if vram_bytes > size_bytes or size_bytes == 0:
        return "Unknown"
    cpu = round((size_bytes - vram_bytes) / size_bytes * 100)
    return f"{cpu}%/{100 - cpu}% CPU/GPU"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns under their heads, four spaces apart, a line feed at the end of each line."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "".join(
        "    ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )
