import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ollama_tts.errors import StoreFailed
from ollama_tts.names import ModelName
from ollama_tts.store.lock import StoreLock
from ollama_tts.store.store import Store
from tests.support.stores import commit, names


def test_one_writer_at_a_time_among_threads_and_objects(tmp_path: Path) -> None:
    locks = [StoreLock(tmp_path / ".lock") for _ in range(2)]
    inside, most = 0, 0

    def work(index: int) -> None:
        nonlocal inside, most
        with locks[index % 2].held():
            inside += 1
            most = max(most, inside)
            inside -= 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(40)))
    assert most == 1


@pytest.mark.parametrize("same", [True, False])
def test_who_waits_too_long_is_told(tmp_path: Path, same: bool) -> None:
    lock = StoreLock(tmp_path / ".lock", timeout_s=0.05)
    other = lock if same else StoreLock(tmp_path / ".lock", timeout_s=0.05)
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.held():
            held.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    with (
        pytest.raises(StoreFailed, match=r"busy: another writer held its lock for 0\.05 s"),
        other.held(),
    ):
        pass
    leave.set()
    thread.join()
    with other.held():
        pass


def test_a_failure_inside_lets_go(tmp_path: Path) -> None:
    lock = StoreLock(tmp_path / ".lock", timeout_s=1)
    with pytest.raises(KeyError), lock.held():
        raise KeyError
    with lock.held():
        pass


def test_writers_through_two_stores_lose_nothing(models_dir: Path) -> None:
    stores = [Store(models_dir), Store(models_dir)]

    def work(index: int) -> None:
        store = stores[index % 2]
        gone = index % 3 == 0
        commit(store, f"m{index}", {"x": f"gone {index}".encode() if gone else b"kept"})
        if gone:
            store.delete(ModelName.parse(f"m{index}"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(30)))
    left = {f"m{index}:latest" for index in range(30) if index % 3}
    assert set(names(Store(models_dir))) == left
    assert all(path.is_file() for m in stores[0].list() for path in m.files.values())
