import asyncio
import os
import resource
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ollama_tts.errors import BlobNotFound, DigestMismatch, StoreFailed, TooLarge
from ollama_tts.names import Digest
from ollama_tts.store.store import Store
from tests.support.stores import blob_names

ABC = Digest.of(b"abc")


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def test_streamed_bytes_become_a_blob(store: Store, models_dir: Path) -> None:
    assert not store.blobs.has(ABC)
    assert store.blobs.add(ABC, [b"a", b"", b"bc"])
    assert store.blobs.has(ABC)
    assert store.blobs.path(ABC).read_bytes() == b"abc"
    assert (store.blobs.size_bytes(ABC), store.blobs.read(ABC, 3)) == (3, b"abc")
    assert blob_names(models_dir) == {ABC.filename}


def test_an_existing_blob_answers_without_reading(store: Store) -> None:
    body = iter([b"never read"])
    store.blobs.add(ABC, [b"abc"])
    assert not store.blobs.add(ABC, body)
    assert next(body) == b"never read"


def test_another_content_keeps_nothing(store: Store, models_dir: Path) -> None:
    with pytest.raises(DigestMismatch) as caught:
        store.blobs.add(Digest.of(b"xyz"), [b"abd"])
    xyz, abd = Digest.of(b"xyz"), Digest.of(b"abd")
    assert str(caught.value) == f'digest mismatch, expected "{xyz}", got "{abd}"'
    assert not store.blobs.has(xyz)
    assert not store.blobs.has(abd)
    assert blob_names(models_dir) == set()


def test_a_body_that_breaks_off_keeps_nothing(store: Store, models_dir: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        store.blobs.add(ABC, broken())
    assert blob_names(models_dir) == set()


def test_the_empty_blob(store: Store) -> None:
    assert store.blobs.add(Digest.of(b""), [])
    assert store.blobs.read(Digest.of(b""), 0) == b""


def test_too_many_bytes_keep_nothing(models_dir: Path) -> None:
    store = Store(models_dir, max_blob_bytes=2)
    with pytest.raises(TooLarge, match="2 bytes"):
        store.blobs.add(ABC, [b"ab", b"c"])
    assert blob_names(models_dir) == set()


@pytest.mark.parametrize("call", ["path", "size_bytes"])
def test_a_missing_blob(store: Store, call: str) -> None:
    with pytest.raises(BlobNotFound) as caught:
        getattr(store.blobs, call)(ABC)
    assert str(caught.value) == f'blob "{ABC}" not found'
    with pytest.raises(BlobNotFound):
        store.blobs.read(ABC, 10)


def test_reading_is_bounded(store: Store) -> None:
    store.blobs.add(ABC, [b"abc"])
    with pytest.raises(StoreFailed, match="larger than the 2 bytes"):
        store.blobs.read(ABC, 2)


async def test_an_asynchronous_body(store: Store, models_dir: Path) -> None:
    assert await store.blobs.add_stream(ABC, pieces(b"a", b"bc"))
    assert not await store.blobs.add_stream(ABC, pieces(b"never read"))
    with pytest.raises(DigestMismatch):
        await store.blobs.add_stream(Digest.of(b"xyz"), pieces(b"abd"))
    assert blob_names(models_dir) == {ABC.filename}


async def test_a_cancelled_upload_keeps_nothing(store: Store, models_dir: Path) -> None:
    reached = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 2_000_000
            reached.set()

    upload = asyncio.create_task(store.blobs.add_stream(ABC, endless()))
    await reached.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert blob_names(models_dir) == set()


async def test_uploads_of_one_digest_at_once(store: Store, models_dir: Path) -> None:
    data = os.urandom(3_000_000)
    digest = Digest.of(data)
    half = asyncio.Event()

    async def whole() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 100_000):
            yield data[at : at + 100_000]
            await asyncio.sleep(0)

    async def cut() -> AsyncIterator[bytes]:
        yield data[:1_500_000]
        half.set()
        raise ConnectionError

    results = await asyncio.gather(
        *(store.blobs.add_stream(digest, whole()) for _ in range(3)),
        store.blobs.add_stream(digest, cut()),
        return_exceptions=True,
    )
    assert half.is_set()
    assert results[:3] == [True, True, True]
    assert isinstance(results[3], ConnectionError)
    assert store.blobs.path(digest).read_bytes() == data
    assert blob_names(models_dir) == {digest.filename}


def test_threads_put_the_same_bytes(store: Store, models_dir: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(store.blobs.put, [b"same"] * 50))
    assert digests == {Digest.of(b"same")}
    assert blob_names(models_dir) == {Digest.of(b"same").filename}


async def test_bodies_go_to_disk_and_not_to_memory(store: Store) -> None:
    chunk = bytes(1_000_000)
    digest = Digest.of(chunk * 40)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield chunk

    tracemalloc.start()
    try:
        await store.blobs.add_stream(digest, body())
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert store.blobs.size_bytes(digest) == 40_000_000
    assert peak_bytes < 10_000_000


def test_old_spellings_are_renamed(store: Store, models_dir: Path) -> None:
    (models_dir / "blobs").mkdir(parents=True)
    (models_dir / "blobs" / str(ABC)).write_bytes(b"abc")
    (models_dir / "blobs" / "sha256:junk").write_bytes(b"abc")
    store.open()
    assert store.blobs.read(ABC, 3) == b"abc"


def test_a_full_disk_is_one_clear_sentence(store: Store, models_dir: Path) -> None:
    """The kernel's limit on file sizes stands for the disk: the same call fails the same way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StoreFailed) as caught:
            store.blobs.add(Digest.of(bytes(5000)), [bytes(500)] * 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value) == "could not write a blob: File too large"
    assert str(models_dir) not in str(caught.value)
    assert blob_names(models_dir) == set()


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = Store(tmp_path / "file" / "models")
    with pytest.raises(StoreFailed, match="could not write a blob: Not a directory"):
        store.blobs.add(ABC, [b"abc"])
    with pytest.raises(StoreFailed, match="could not write a blob: Not a directory"):
        store.blobs.put(b"abc")
