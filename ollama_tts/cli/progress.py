"""Progress of pull, push, create and batch: bars that are redrawn, on terminals only.

Elsewhere each new status is one plain line, so that a log stays readable.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TextIO

from ollama_tts.cli import units
from ollama_tts.protocol.ollama import ProgressResponse

REDRAW_S = 0.1
_BLOCKS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Line:
    """One line on the screen: a status, with a bar where `total` is above 0.

    `elapsed_s` counts from the line's first appearance; `counted` says that `total` and
    `completed` count things, not bytes.
    """

    status: str
    completed: int = 0
    total: int = 0
    elapsed_s: float = 0.0
    counted: bool = False

    def render(self, columns: int) -> str:
        """The line as text of at most `columns` characters."""
        if self.total <= 0:
            return self.status[:columns]
        share = min(1.0, self.completed / self.total)
        before = f"{self.status}: {int(share * 100):3d}% "
        after = f" {self._figures()}"
        room = columns - len(before) - len(after) - 2
        if room < 4:
            return (before + after.strip())[:columns]
        return f"{before}▕{_bar(share, room)}▏{after}"

    def _figures(self) -> str:
        if self.counted:
            return f"{self.completed}/{self.total}"
        figures = f"{units.size(self.completed)}/{units.size(self.total)}"
        if 0 < self.completed < self.total and self.elapsed_s >= 1:
            figures += f" {units.size(int(self.completed / self.elapsed_s))}/s"
        return figures


def _bar(share: float, width: int) -> str:
    eighths = int(share * width * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[part] if full < width else "")).ljust(width)


class ProgressLines:
    """Shows progress on `screen`; a context manager that leaves the last state standing."""

    def __init__(
        self,
        screen: TextIO,
        *,
        counted: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = screen
        self._terminal = screen.isatty()
        self._counted = counted
        self._clock = clock
        self._lines: dict[str, Line] = {}
        self._born_s: dict[str, float] = {}
        self._drawn = 0
        self._drawn_at_s = -REDRAW_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal and self._lines:
            self._draw()

    def __call__(self, progress: ProgressResponse) -> None:
        """Take one line of a running operation."""
        key = progress.digest or progress.status
        fresh = key not in self._lines
        born_s = self._born_s.setdefault(key, self._clock())
        self._lines[key] = Line(
            progress.status,
            progress.completed,
            progress.total,
            self._clock() - born_s,
            self._counted,
        )
        if not self._terminal:
            if fresh:
                print(progress.status, file=self._screen, flush=True)
        elif fresh or self._clock() - self._drawn_at_s >= REDRAW_S:
            self._draw()

    def _draw(self) -> None:
        columns = shutil.get_terminal_size().columns - 1
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        shown = "".join(f"\x1b[2K{line.render(columns)}\n" for line in self._lines.values())
        self._screen.write(f"\r{up}{shown}")
        self._screen.flush()
        self._drawn = len(self._lines)
        self._drawn_at_s = self._clock()
