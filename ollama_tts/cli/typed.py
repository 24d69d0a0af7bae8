"""Standard input as text, as it comes."""

import asyncio
import codecs
import os
import threading
from collections.abc import AsyncGenerator

READ_BYTES = 65536
AHEAD = 16


async def parts(descriptor: int) -> AsyncGenerator[str]:
    """What is written to `descriptor`, in the parts that it is written in, until its end.

    UTF-8, a byte order mark is dropped; bytes that are no UTF-8 become U+FFFD. At most `AHEAD`
    parts wait for the reader.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)

    def read() -> None:
        while room.acquire() and (data := os.read(descriptor, READ_BYTES)):
            loop.call_soon_threadsafe(queue.put_nowait, data)
        loop.call_soon_threadsafe(queue.put_nowait, b"")

    # a daemon: a read that nothing ends must not keep an interrupted process alive
    threading.Thread(target=read, name="standard input", daemon=True).start()
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    while data := await queue.get():
        room.release()
        if text := decoder.decode(data):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text
