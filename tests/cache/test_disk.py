import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.sound import Sound


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


def sound(samples: int, value: float = 0.25) -> Sound:
    return Sound(np.full(samples, value, np.float32), samples // 10)


def key(number: int) -> str:
    return f"{number:064x}"


def test_what_was_put_comes_back_after_a_restart(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10_000, Clock())
    cache.put(key(1), sound(100))
    cache.close()
    again = DiskCache(tmp_path, 10_000, Clock())
    kept = again.get(key(1))
    assert kept is not None
    assert np.array_equal(kept.samples, sound(100).samples)
    assert kept.steps == 10
    assert again.get(key(2)) is None
    again.close()


def test_the_least_recently_heard_goes_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 3 * 456, Clock())
    for number in (1, 2, 3):
        cache.put(key(number), sound(100))
    assert cache.get(key(1)) is not None
    cache.put(key(4), sound(100))
    assert cache.get(key(2)) is None
    assert cache.get(key(1)) is not None
    assert cache.size_bytes <= 3 * 456
    cache.put(key(5), sound(10_000))
    assert cache.get(key(5)) is None
    cache.close()


def test_a_damaged_file_is_never_played(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10_000, Clock())
    cache.put(key(1), sound(100))
    path = tmp_path / key(1)[:2] / key(1)
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    assert cache.get(key(1)) is None
    assert not path.exists()
    cache.put(key(2), sound(100))
    (tmp_path / key(2)[:2] / key(2)).write_bytes(b"short")
    assert cache.get(key(2)) is None
    cache.close()


def test_a_damaged_index_starts_anew(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10_000, Clock())
    cache.put(key(1), sound(100))
    cache.close()
    for path in tmp_path.glob("index.sqlite3*"):
        path.write_bytes(b"no database at all" * 100)
    again = DiskCache(tmp_path, 10_000, Clock())
    assert again.get(key(1)) is None
    assert again.size_bytes == 0
    assert not (tmp_path / key(1)[:2] / key(1)).exists()
    again.close()


def test_a_disk_that_cannot_be_written_keeps_nothing_and_harms_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(tmp_path, 10_000, Clock())
    (tmp_path / key(1)[:2]).write_text("a file where the folder should be")
    cache.put(key(1), sound(100))
    assert "could not write" in caplog.text
    assert cache.get(key(1)) is None
    cache.close()


def test_clear_removes_every_file(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10_000, Clock())
    cache.put(key(1), sound(100))
    assert cache.clear() == 1
    assert not list(tmp_path.glob("??/*"))
    cache.close()


WRITER = """
import sys
from pathlib import Path
import numpy as np
from ollama_tts.cache.disk import DiskCache
from ollama_tts.cache.sound import Sound
cache = DiskCache(Path(sys.argv[1]), 10**7, lambda: 1.0)
for number in range(10**6):
    cache.put(f"{number:064x}", Sound(np.full(2000, number, np.float32), number))
    print(number, flush=True)
"""


def test_kill_9_leaves_only_whole_sounds(tmp_path: Path) -> None:
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        last = [writer.stdout.readline() for _ in range(5)][-1]
        time.sleep(0.003 * (os.getpid() % 7))
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        confirmed = int(rest[-1] if rest else last)
        cache = DiskCache(tmp_path, 10**7, lambda: 1.0)
        for number in range(confirmed + 1):
            kept = cache.get(key(number))
            assert kept is not None
            assert kept.steps == number
        assert not list(tmp_path.glob("??/*.new"))
        cache.close()
