"""A store that may be read and not written, as on a mounted image."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ollama_tts.errors import DigestMismatch, StoreFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.store.store import Store
from tests.support.stores import commit, names

NOBODY = 65534


@contextmanager
def without_privileges() -> Iterator[None]:
    """For root, who may write everywhere: be somebody who may not."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def read_only() -> Iterator[Path]:
    top = Path(tempfile.mkdtemp())
    models_dir = top / "models"
    commit(Store(models_dir), "a", {"x": b"weights"})
    folders = [top, *(path for path in top.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    (models_dir / ".lock").unlink(missing_ok=True)
    yield models_dir
    for folder in folders:
        folder.chmod(0o755)
    shutil.rmtree(top)


def test_it_is_read(read_only: Path, caplog: pytest.LogCaptureFixture) -> None:
    with without_privileges():
        store = Store(read_only)
        store.open()
        assert names(store) == ["a:latest"]
        assert store.get(ModelName.parse("A")).files["x"].read_bytes() == b"weights"
        assert store.blobs.offer(Digest.of(b"weights"))
        assert not store.blobs.add(Digest.of(b"weights"), [])
    assert [record.message for record in caplog.records] == [
        "the model store is served as it is: could not lock the model store: Permission denied"
    ]


def test_every_change_is_refused_in_one_sentence(read_only: Path) -> None:
    name = ModelName.parse("a")
    with without_privileges():
        store = Store(read_only)
        changes: list[Callable[[], object]] = [
            lambda: store.delete(name),
            lambda: store.copy(name, ModelName.parse("b")),
            store.prune,
            lambda: commit(store, "c"),
            lambda: store.blobs.put(b"new"),
            lambda: store.blobs.add(Digest.of(b"new"), [b"new"]),
        ]
        for change in changes:
            with pytest.raises(StoreFailed, match=r"^could not [a-z ]+: Permission denied$"):
                change()
        assert names(store) == ["a:latest"]


def test_a_mismatch_in_a_store_that_can_be_written_is_no_store_failure(tmp_path: Path) -> None:
    with pytest.raises(DigestMismatch):
        Store(tmp_path).blobs.add(Digest.of(b"a"), [b"b"])
