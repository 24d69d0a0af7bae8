"""Running an asyncio command so that Ctrl-C ends it at once, whatever it is waiting for."""

import asyncio
import signal
from collections.abc import Coroutine
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def interruptible(work: Coroutine[None, None, T]) -> T:
    """The result of `work`.

    asyncio's own handler of SIGINT only asks the main task to stop, which a write into a full
    pipe never hears; ours raises where the program stands.

    Raises:
        KeyboardInterrupt: On SIGINT, after the work's own cleaning up.
    """
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        return asyncio.run(work)
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
