import io
import os
import pty
import re
from collections.abc import Generator

import pytest

from ollama_tts.cli.progress import REDRAW_S, Line, ProgressLines
from ollama_tts.protocol.ollama import ProgressResponse
from tests.support.manual_clock import ManualClock


class Terminal:
    """A pseudo terminal: `file` is written to, `shown` is all that has arrived on its screen."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        os.set_blocking(self._master, False)
        self.file = os.fdopen(slave, "w", encoding="utf-8")
        self._read = b""

    @property
    def shown(self) -> str:
        try:
            while data := os.read(self._master, 65536):
                self._read += data
        except BlockingIOError:
            pass
        return self._read.decode()

    def close(self) -> None:
        self.file.close()
        os.close(self._master)


@pytest.fixture
def terminal() -> Generator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


def step(status: str, completed: int = 0, total: int = 0) -> ProgressResponse:
    digest = "sha256:d" if total else ""
    return ProgressResponse(status=status, digest=digest, total=total, completed=completed)


@pytest.mark.parametrize("columns", [10, 20, 30, 40, 79, 200])
def test_a_line_fits_the_screen(columns: int) -> None:
    line = Line("pulling 0123456789ab", 12_000_000, 48_000_000, elapsed_s=2.0)
    assert len(line.render(columns)) <= columns


def test_a_bar_tells_share_sizes_and_speed() -> None:
    line = Line("pulling 0123456789ab", 12_000_000, 48_000_000, elapsed_s=2.0)
    assert re.fullmatch(
        r"pulling 0123456789ab:  25% ▕█+[▏▎▍▌▋▊▉ ] *▏ 12 MB/48 MB 6 MB/s", line.render(79)
    )
    assert "/s" not in Line("pulling", 48, 48, elapsed_s=2.0).render(79)
    assert "100% ▕████████" in Line("pulling", 48, 48).render(79)
    assert Line("speaking", 3, 7, counted=True).render(79).endswith("3/7")


def test_a_terminal_is_redrawn_in_place(terminal: Terminal) -> None:
    clock = ManualClock()
    with ProgressLines(terminal.file, clock=clock.time) as progress:
        progress(step("pulling manifest"))
        progress(step("pulling 0123", 1, 4))
        progress(step("pulling 0123", 2, 4))  # too soon after the last drawing
        assert " 50%" not in terminal.shown
        clock.advance(REDRAW_S)
        progress(step("pulling 0123", 3, 4))
        assert " 75%" in terminal.shown
        progress(step("pulling 0123", 4, 4))
    shown = terminal.shown
    assert " 50%" not in shown
    assert shown.rindex("100%") > shown.rindex(" 75%")  # the last state stays
    assert shown.count("pulling manifest") == shown.count("\x1b[2Kpulling manifest")


def test_a_log_gets_each_status_once() -> None:
    log = io.StringIO()
    with ProgressLines(log) as progress:
        progress(step("pulling manifest"))
        for completed in range(100):
            progress(step("pulling 0123", completed, 100))
        progress(step("success"))
    assert log.getvalue() == "pulling manifest\npulling 0123\nsuccess\n"
