import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import Failed, TooLarge
from ollama_tts.names import Digest
from ollama_tts.store import partial as store_partial
from ollama_tts.store.blobs import DEFAULT_MAX_BYTES
from ollama_tts.store.layout import Layout
from ollama_tts.store.partial import MAX_PARTS, Partial, PartialBusy, split
from tests.support.stores import blob_names

DATA = bytes(range(100))
DIGEST = Digest.of(DATA)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "models")


def begin(layout: Layout, size: int = len(DATA), part: int = 30, save: int = 1) -> Partial:
    return Partial(layout, DIGEST, size, part, save_bytes=save)


def fill(partial: Partial, data: bytes = DATA) -> None:
    for part in partial.parts:
        partial.write(part, data[part.at : part.stop])


def test_filled_out_of_order_it_becomes_a_blob(layout: Layout) -> None:
    partial = begin(layout)
    for part in reversed(partial.parts):
        partial.write(part, DATA[part.at : part.at + 5])
    assert partial.done_bytes == 20
    assert not layout.blob(DIGEST).exists()
    fill(partial)
    partial.publish()
    assert layout.blob(DIGEST).read_bytes() == DATA
    assert blob_names(layout.root) == {DIGEST.filename}
    partial.close()


def test_a_later_try_goes_on(layout: Layout) -> None:
    first = begin(layout)
    first.write(first.parts[1], DATA[30:45])
    first.close()
    first.close()
    second = begin(layout, part=7)
    assert [(p.start, p.stop, p.done) for p in second.parts] == [
        (0, 30, 0), (30, 60, 15), (60, 90, 0), (90, 100, 0)
    ]  # fmt: skip
    fill(second)
    second.publish()
    assert layout.blob(DIGEST).read_bytes() == DATA


@pytest.mark.parametrize("part", [30, 100])
def test_hashing_follows_the_bytes_without_a_gap(layout: Layout, part: int) -> None:
    partial = begin(layout, part=part)
    partial.write(partial.parts[0], DATA[:20])
    for later in partial.parts[1:]:
        partial.write(later, DATA[later.start : later.stop])
    assert partial.unhashed_bytes == 20
    partial.hash_ahead(15)
    assert partial.unhashed_bytes == 5
    fill(partial)
    assert partial.unhashed_bytes == 85
    partial.publish()
    assert layout.blob(DIGEST).read_bytes() == DATA


def test_what_was_hashed_before_it_began_anew_does_not_count(layout: Layout) -> None:
    partial = begin(layout)
    fill(partial, DATA[::-1])
    partial.hash_ahead(50)
    partial.restart(100)
    fill(partial)
    partial.publish()
    assert layout.blob(DIGEST).read_bytes() == DATA


def test_a_file_that_was_cut_short_is_no_blob(layout: Layout) -> None:
    partial = begin(layout)
    fill(partial)
    os.truncate(layout.blobs / f"{DIGEST.filename}-partial", 40)
    with pytest.raises(Failed, match="digest mismatch"):
        partial.publish()


def test_large_ones_go_to_disk_on_the_way(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(store_partial, "_SYNC_BYTES", 50)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    partial = begin(layout)
    fill(partial)
    assert len(synced) == 1
    partial.close()


def test_only_one_at_a_time(layout: Layout) -> None:
    first = begin(layout)
    with pytest.raises(PartialBusy):
        begin(layout)
    first.close()
    begin(layout).close()


def test_other_bytes_are_thrown_away(layout: Layout) -> None:
    partial = begin(layout)
    fill(partial, DATA[::-1])
    with pytest.raises(Failed, match="digest mismatch, file must be downloaded again: want"):
        partial.publish()
    assert blob_names(layout.root) == set()


@pytest.mark.parametrize(
    "record",
    [
        b"", b"[]", b"{", b"\xff", b"[" * 20_000,
        {"size": 99, "parts": [[0, 100, 5]]},
        {"size": 100, "parts": []},
        {"size": 100, "parts": [[0, 50, 0]]},
        {"size": 100, "parts": [[0, 50, 0], [40, 100, 0]]},
        {"size": 100, "parts": [[0, 100, 101]]},
        {"size": 100, "parts": [[0, 100, -1]]},
        {"size": 100, "parts": [[0, 0, 0], [0, 100, 0]]},
        {"size": 100, "parts": [[0, 100]]},
    ],
)  # fmt: skip
def test_a_damaged_record_begins_anew(layout: Layout, record: bytes | dict[str, object]) -> None:
    first = begin(layout)
    fill(first)
    first.close()
    data = record if isinstance(record, bytes) else msgspec.json.encode(record)
    (layout.blobs / f"{DIGEST.filename}-partial.json").write_bytes(data)
    second = begin(layout)
    assert second.done_bytes == 0
    fill(second)
    second.publish()


def test_another_size_begins_anew(layout: Layout) -> None:
    first = begin(layout, size=99)
    first.write(first.parts[0], DATA[:30])
    first.close()
    assert begin(layout).done_bytes == 0


def test_an_empty_blob(layout: Layout) -> None:
    empty = Partial(layout, Digest.of(b""), 0, 30)
    assert list(empty.parts) == []
    empty.publish()
    assert layout.blob(Digest.of(b"")).read_bytes() == b""


def test_no_more_than_a_blob_may_have(layout: Layout) -> None:
    with pytest.raises(TooLarge):
        begin(layout, size=DEFAULT_MAX_BYTES + 1)
    assert not layout.blobs.exists()


@given(st.integers(0, 1 << 50), st.integers(0, 1 << 40))
def test_parts_cover_everything_once(size: int, part_bytes: int) -> None:
    parts = split(size, part_bytes)
    assert len(parts) <= MAX_PARTS
    assert sum(part.missing for part in parts) == size
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert all(part.missing > 0 for part in parts)
