"""All models together have a bound of their own."""

from pathlib import Path

import pytest

from ollama_tts.errors import StoreFull
from ollama_tts.names import Digest
from ollama_tts.store.store import Store

A, B = b"a" * 60, b"b" * 60


def held(models_dir: Path) -> list[int]:
    return [path.stat().st_size for path in (models_dir / "blobs").iterdir()]


def test_what_does_not_fit_leaves_nothing(models_dir: Path) -> None:
    blobs = Store(models_dir, quota_bytes=100).blobs
    assert blobs.add(Digest.of(A), [A])
    with pytest.raises(StoreFull, match="120 bytes, more than the 100 of OLLAMA_TTS_MAX_STORE"):
        blobs.add(Digest.of(B), [B])
    assert held(models_dir) == [60]
    blobs.remove(Digest.of(A))
    assert blobs.add(Digest.of(B), [B])


def test_what_is_on_its_way_counts(models_dir: Path) -> None:
    blobs = Store(models_dir, quota_bytes=100).blobs
    with blobs.writing(Digest.of(A)) as first:
        first.write(A)
        with pytest.raises(StoreFull):
            blobs.add(Digest.of(B), [B])
        first.commit()
    assert held(models_dir) == [60]


def test_a_download_that_goes_on_is_not_counted_twice(models_dir: Path) -> None:
    blobs = Store(models_dir, quota_bytes=100).blobs
    partial = models_dir / "blobs" / f"{Digest.of(A).filename}-partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(A)
    blobs.quota.check(60, instead_of=partial.name)
    with pytest.raises(StoreFull):
        blobs.quota.check(60)


def test_without_a_quota_the_disk_is_the_bound(models_dir: Path) -> None:
    Store(models_dir).blobs.quota.check(10**18)
