import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cache_kills import kill_often
from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.sound import Extent, Sound

SIZE = 8 + 32 + 32 + 16 + 4 * 100 + 32
"""Bytes of the file of `sound(100)`."""


def sound(samples: int, value: float = 0.25, model: str = "") -> Sound:
    return Sound(np.full(samples, value, np.float32), samples // 10, model)


def key(number: int) -> str:
    return f"{number:064x}"


def place(folder: Path, number: int) -> Path:
    return folder / key(number)[:2] / key(number)


def filled(folder: Path, *numbers: int) -> DiskCache:
    cache = DiskCache(folder, 10_000)
    for number in numbers:
        cache.put(key(number), sound(100, number))
    return cache


def test_what_was_put_comes_back_after_a_restart(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10_000)
    cache.put(key(1), sound(100, model="ab" * 32))
    cache.close()
    again = DiskCache(tmp_path, 10_000)
    kept = again.get(key(1))
    assert kept is not None
    assert np.array_equal(kept.samples, sound(100).samples)
    assert (kept.steps, kept.model) == (10, "ab" * 32)
    assert again.get(key(2)) is None
    again.close()


def test_the_least_recently_heard_goes_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 3 * SIZE)
    for number in (1, 2, 3):
        cache.put(key(number), sound(100))
    assert cache.get(key(1)) is not None
    cache.put(key(4), sound(100))
    assert cache.get(key(2)) is None
    assert cache.get(key(1)) is not None
    assert cache.size_bytes == 3 * SIZE
    cache.put(key(5), sound(10_000))
    assert cache.get(key(5)) is None
    assert cache.size_bytes == 3 * SIZE
    cache.close()


def test_what_was_heard_is_known_after_a_restart_whatever_the_clock_says(tmp_path: Path) -> None:
    cache = filled(tmp_path, 1, 2)
    assert cache.get(key(1)) is not None
    cache.close()
    for path in tmp_path.rglob("*"):
        os.utime(path, (0, 0))
    again = DiskCache(tmp_path, 2 * SIZE)
    again.put(key(3), sound(100))
    assert again.get(key(2)) is None
    assert again.get(key(1)) is not None
    again.close()


def test_a_smaller_budget_holds_from_the_start(tmp_path: Path) -> None:
    filled(tmp_path, 1, 2, 3).close()
    cache = DiskCache(tmp_path, 2 * SIZE - 1)
    assert cache.extent == Extent(1, SIZE)
    assert [path.name for path in tmp_path.glob("??/*")] == [key(3)]
    cache.close()


def test_the_same_sound_put_twice_is_one(tmp_path: Path) -> None:
    cache = filled(tmp_path, 1, 1)
    assert cache.extent == Extent(1, SIZE)
    cache.put(key(1), sound(50))
    kept = cache.get(key(1))
    assert kept is not None
    assert len(kept.samples) == 50
    assert cache.extent == Extent(1, SIZE - 200)
    cache.close()


@pytest.mark.parametrize("at", [0, 8, 45, 75, 90, 300, SIZE - 1])
def test_a_flipped_bit_is_found(tmp_path: Path, at: int) -> None:
    cache = filled(tmp_path, 1)
    data = bytearray(place(tmp_path, 1).read_bytes())
    data[at] ^= 1
    place(tmp_path, 1).write_bytes(data)
    assert cache.get(key(1)) is None
    assert not place(tmp_path, 1).exists()
    assert cache.extent == Extent()
    cache.close()


@pytest.mark.parametrize("length", [0, 5, 104, 300, SIZE - 1, SIZE + 1])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_of_another_length_is_dropped(tmp_path: Path, length: int, restarted: bool) -> None:
    cache = filled(tmp_path, 1)
    place(tmp_path, 1).write_bytes(place(tmp_path, 1).read_bytes().ljust(length, b"x")[:length])
    if restarted:
        cache.close()
        cache = DiskCache(tmp_path, 10_000)
        assert cache.extent == Extent()
    assert cache.get(key(1)) is None
    assert not place(tmp_path, 1).exists()
    cache.close()


@pytest.mark.parametrize("restarted", [False, True])
def test_another_sounds_file_is_not_played(tmp_path: Path, restarted: bool) -> None:
    cache = filled(tmp_path, 1, 2)
    shutil.copy(place(tmp_path, 2), place(tmp_path, 1))
    shutil.copy(place(tmp_path, 2), place(tmp_path, 3))
    if restarted:
        cache.close()
        cache = DiskCache(tmp_path, 10_000)
    assert cache.get(key(1)) is None
    assert cache.get(key(3)) is None
    assert cache.get(key(2)) is not None
    assert cache.extent == Extent(1, SIZE)
    cache.close()


def test_pipes_links_and_folders_are_no_sounds(tmp_path: Path) -> None:
    cache = filled(tmp_path, 1)
    os.mkfifo(place(tmp_path, 2))
    place(tmp_path, 3).symlink_to(place(tmp_path, 1))
    place(tmp_path, 4).mkdir()
    assert [cache.get(key(number)) for number in (2, 3, 4)] == [None, None, None]
    cache.close()
    again = DiskCache(tmp_path, 10_000)
    assert again.extent == Extent(1, SIZE)
    again.close()


def test_files_that_are_not_the_caches_are_left_alone(tmp_path: Path) -> None:
    theirs = [tmp_path / "ab/song.flac", tmp_path / "readme", tmp_path / "me/letter.new"]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    cache = filled(tmp_path, 1)
    cache.clear()
    cache.close()
    assert [path.read_text() for path in theirs] == ["mine"] * 3


def test_what_a_crash_left_is_taken_in_or_removed(tmp_path: Path) -> None:
    filled(tmp_path / "other", 7).close()
    filled(tmp_path / "here", 1, 2).close()
    shutil.copy(place(tmp_path / "other", 7), place(tmp_path / "here", 7))  # renamed, not indexed
    place(tmp_path / "here", 8).with_suffix(".new").write_bytes(b"half")
    place(tmp_path / "here", 2).unlink()  # evicted, the index not written
    cache = DiskCache(tmp_path / "here", 10_000)
    assert cache.extent == Extent(2, 2 * SIZE)
    assert cache.get(key(7)) is not None
    assert not list((tmp_path / "here").glob("??/*.new"))
    cache.close()


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_index_is_made_anew_from_the_files(tmp_path: Path, damage: bytes) -> None:
    filled(tmp_path, 1).close()
    for path in tmp_path.glob("index.sqlite3*"):
        path.write_bytes(damage)
    again = DiskCache(tmp_path, 10_000)
    assert again.get(key(1)) is not None
    assert again.extent == Extent(1, SIZE)
    again.close()


def test_an_index_that_goes_while_it_is_used_is_made_anew(tmp_path: Path) -> None:
    cache = filled(tmp_path, 1)
    for path in tmp_path.glob("index.sqlite3*"):
        path.unlink()
    cache.put(key(2), sound(100))
    assert cache.extent == Extent(2, 2 * SIZE)
    shutil.rmtree(tmp_path)
    cache.put(key(3), sound(100))
    assert cache.get(key(3)) is None
    cache.close()


def test_two_caches_on_one_folder_do_each_other_no_harm(tmp_path: Path) -> None:
    one, two = (DiskCache(tmp_path, 4 * SIZE) for _ in range(2))
    for number in range(20):
        (one, two)[number % 2].put(key(number), sound(100, number))
        heard = (two, one)[number % 2].get(key(number))
        assert heard is not None
        assert heard.samples[0] == number
        assert one.extent == two.extent == Extent(min(4, number + 1), min(4, number + 1) * SIZE)
    assert one.clear() == Extent(4, 4 * SIZE)
    assert two.get(key(19)) is None
    assert two.extent == Extent()
    one.close()
    two.close()


def test_a_disk_that_cannot_be_written_is_logged_once_and_harms_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(tmp_path, 10_000)
    (tmp_path / key(1)[:2]).write_text("a file where the folder should be")
    for _ in range(3):
        cache.put(key(1), sound(100))
        assert cache.get(key(1)) is None
    assert caplog.text.count("could not write") == 1
    assert cache.extent == Extent()
    (tmp_path / key(1)[:2]).unlink()
    cache.put(key(1), sound(100))
    assert cache.get(key(1)) is not None
    cache.close()


FULL = """
import logging, resource, sys
from pathlib import Path
import numpy as np
from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.sound import Sound
logging.basicConfig(stream=sys.stdout, format="%(message)s")
cache = DiskCache(Path(sys.argv[1]), 10**7)
cache.put("1" * 64, Sound(np.ones(100, np.float32), 1))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for digit in "2345":
    cache.put(digit * 64, Sound(np.ones(5000, np.float32), 1))
print([cache.get(digit * 64) is not None for digit in "12345"])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
cache.put("2" * 64, Sound(np.ones(5000, np.float32), 1))
print(cache.get("2" * 64) is not None)
cache.close()
"""


@pytest.mark.parametrize("limit_bytes", [10_000, 100])
def test_a_full_disk_keeps_nothing_more_and_recovers(tmp_path: Path, limit_bytes: int) -> None:
    """A limit on the size of files fails writes as a full disk does: the sound's, the index's."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), str(limit_bytes)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[-2:] == ["[True, False, False, False, False]", "True"]
    assert sum("could not write" in line for line in lines) == 1
    cache = DiskCache(tmp_path, 10**7)
    assert cache.extent.sounds == 2
    assert not list(tmp_path.glob("??/*.new"))
    cache.close()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write")
def test_a_folder_that_cannot_be_written_is_no_cache(caplog: pytest.LogCaptureFixture) -> None:
    cache = DiskCache(Path("/proc"), 10_000)
    for _ in range(3):
        cache.put(key(1), sound(100))
        assert cache.get(key(1)) is None
    assert cache.extent == cache.clear() == Extent()
    cache.close()
    assert [r.levelno for r in caplog.records] == [logging.WARNING]


def test_a_read_only_folder_is_still_read(caplog: pytest.LogCaptureFixture) -> None:
    with not_the_superuser(), tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cache"
        filled(folder, 1).close()
        for path in [*folder.rglob("*"), folder]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        cache = DiskCache(folder, 10_000)
        for number in (1, 2, 3):
            cache.put(key(number), sound(100))
        assert cache.get(key(1)) is not None
        assert cache.get(key(2)) is None
        cache.close()
        for path in [folder, *folder.iterdir()]:
            path.chmod(0o755)
    assert caplog.text.count("could not write") == 1


@contextmanager
def not_the_superuser() -> Iterator[None]:
    """Whom a folder's mode binds: the superuser becomes somebody else for the block."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_clear_removes_every_file_or_a_models(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10_000)
    for number in range(4):
        cache.put(key(number), sound(100, model="ab" * 32 if number % 2 else "cd" * 32))
    assert cache.clear("ab" * 32) == Extent(2, 2 * SIZE)
    assert cache.get(key(0)) is not None
    assert cache.get(key(1)) is None
    assert cache.clear() == Extent(2, 2 * SIZE)
    assert not list(tmp_path.glob("??/*"))
    cache.close()


def test_kill_9_leaves_only_whole_sounds(tmp_path: Path) -> None:
    tally = kill_often(tmp_path, kills=10, seed=os.getpid())
    assert tally.faults == []
    assert tally.confirmed > tally.kills
