import threading
from concurrent.futures import ThreadPoolExecutor

from ollama_tts.names import ModelName
from ollama_tts.store.store import Store
from tests.support.stores import commit


def test_threads_list_models_while_others_come_and_go(store: Store) -> None:
    commit(store, "stays", {"x": b"weights"})
    over = threading.Event()

    def look() -> int:
        looks = 0
        while not over.is_set():
            assert "stays" in {model.name.model for model in store.list()}
            looks += 1
        return looks

    with ThreadPoolExecutor(3) as pool:
        looking = [pool.submit(look) for _ in range(3)]
        try:
            for number in range(150):
                commit(store, f"comes{number % 3}", {"x": b"%d" % number})
                store.delete(ModelName.parse(f"comes{number % 3}"))
        finally:
            over.set()
        assert all(looked.result() for looked in looking)
