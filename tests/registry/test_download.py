import asyncio
import threading
from pathlib import Path

import pytest

from ollama_tts.names import Digest
from ollama_tts.registry.download import Cut, Download, _in_thread, _together
from ollama_tts.registry.repository import RemoteBlob
from ollama_tts.store.layout import Layout
from ollama_tts.store.partial import Partial
from ollama_tts.store.store import Store


async def test_a_writer_that_is_cancelled_twice_still_waits_for_its_thread() -> None:
    begun, go_on = threading.Event(), threading.Event()
    ended: list[str] = []

    def work() -> None:
        begun.set()
        assert go_on.wait(30)
        ended.append("thread")

    async def write() -> None:
        await _in_thread(work)

    together = asyncio.ensure_future(_together([write()]))
    await asyncio.to_thread(begun.wait, 30)
    for _ in range(3):
        together.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert not together.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await together
    assert ended == ["thread"]


async def test_cancelled_while_it_opens_it_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "models")
    begun, go_on = threading.Event(), threading.Event()
    really = Download._open

    def slowly(self: Download, size: int) -> Partial:
        begun.set()
        assert go_on.wait(30)
        return really(self, size)

    monkeypatch.setattr(Download, "_open", slowly)
    layout = Layout(tmp_path / "models")
    digest = Digest.of(b"data")
    source = RemoteBlob(None, digest)  # type: ignore[arg-type]  # never asked
    download = Download(store.blobs, layout, digest, 4, source, lambda *_: None)
    task = asyncio.ensure_future(download.run())
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    Partial(layout, digest, 4, 4).close()


async def test_the_first_failure_ends_the_others_and_is_raised_alone() -> None:
    ended: list[str] = []

    async def bad() -> None:
        raise ValueError("bad")

    async def long() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("long")

    with pytest.raises(ValueError, match="bad"):
        await _together([long(), bad(), long()])
    assert ended == ["long", "long"]
    await _together([])


@pytest.mark.parametrize(
    ("size_mib", "part_mib", "block_kib"),
    [(1, 8, 512), (512, 8, 512), (1024, 16, 1024), (100_000, 64, 1024)],
)
def test_what_a_dying_process_can_lose_is_less_than_a_part(
    size_mib: int, part_mib: int, block_kib: int
) -> None:
    cut, size = Cut(), size_mib * 1024**2
    assert cut.part_of(size) == part_mib * 1024**2
    assert cut.block_of(size) == block_kib * 1024
    assert cut.parallel * cut.block_of(size) + cut.save_of(size) < cut.part_of(size)
