"""Standard input as text, as it comes."""

import asyncio
import codecs
import os
import threading
from collections.abc import AsyncGenerator

READ_BYTES = 65536
AHEAD = 16
PAUSE_S = 0.3


async def parts(descriptor: int, pause_s: float = PAUSE_S) -> AsyncGenerator[str]:
    """What is written to `descriptor`, in the parts that it is written in, until its end.

    UTF-8, a byte order mark is dropped; bytes that are no UTF-8 become U+FFFD. At most `AHEAD`
    parts wait for the reader. An empty part says that the writer has paused for `pause_s` after
    a complete line.
    """
    queue = _reading(descriptor)
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    line_ends = False
    while True:
        try:
            data = await asyncio.wait_for(queue.get(), pause_s if line_ends else None)
        except TimeoutError:
            line_ends = False
            yield ""
            continue
        if text := decoder.decode(data, final=not data):
            line_ends = text.endswith("\n")
            yield text
        if not data:
            return


class _Queue:
    """Bytes from a thread, at most `AHEAD` pieces of them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)

    def put(self, data: bytes) -> None:
        """From the thread: waits for room."""
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, data)

    async def get(self) -> bytes:
        """From the event loop: the next piece."""
        data = await self._pieces.get()
        self._room.release()
        return data


def _reading(descriptor: int) -> _Queue:
    """A queue that a thread fills; an empty piece is the end."""
    queue = _Queue()

    def read() -> None:
        while data := os.read(descriptor, READ_BYTES):
            queue.put(data)
        queue.put(b"")

    # a daemon: a read that nothing ends must not keep an interrupted process alive
    threading.Thread(target=read, name="standard input", daemon=True).start()
    return queue
