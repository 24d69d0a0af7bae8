"""Running an asyncio command so that a signal ends it at once, whatever it is waiting for."""

import asyncio
import signal
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interruptible(work: Coroutine[None, None, T]) -> T:
    """The result of `work`.

    asyncio's own handler of SIGINT only asks the main task to stop, which a write into a full
    pipe never hears; ours raises where the program stands. Signals that the process was started
    to ignore (`nohup`) stay ignored.

    Raises:
        KeyboardInterrupt: On SIGINT, after the work's own cleaning up.
        SystemExit: On SIGTERM and SIGHUP, likewise; with 128 and the signal's number.
    """
    with signals_end_it():
        return asyncio.run(work)


@contextmanager
def signals_end_it() -> Generator[None]:
    """Signals end the block by an exception, so that it cleans up; else as `interruptible`."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


def _interrupt(number: int, _frame: FrameType | None) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
