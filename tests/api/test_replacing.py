"""A model is replaced while many speak with it: no error, no gap, and the old one goes."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import ollama
import pytest

from tests.support.checkpoints import TINY, write
from tests.support.live import LiveServer, serving, settings_for
from tests.support.wire import lines_of

CLIENTS = 3
SMALL = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)]
LONG = "hello the quick brown fox. " * 100


def asked(prompt: str = "hello.", steps: int = 8) -> dict[str, object]:
    options = {"seed": 5, "num_predict": steps, "cache": False, "sample_rate": 48_000}
    return {"model": "voice", "prompt": prompt, "options": options}


@dataclass
class Crowd:
    """Clients that speak without a pause; which model spoke each answer, and what went wrong."""

    url: str
    spoken: list[list[str]] = field(default_factory=lambda: [[] for _ in range(CLIENTS)])
    wrong: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def work(self, number: int) -> None:
        with httpx.Client(base_url=self.url, timeout=120) as http:
            while not self.over.is_set():
                answer = http.post("/api/generate", json=asked())
                last = lines_of(answer.content)[-1]
                if answer.status_code != 200 or not last.get("done"):
                    self.wrong.append(answer.text[-300:])
                    return
                self.spoken[number].append(last["audio"]["model_digest"])

    def wait_for_more(self, answers: int = 2) -> None:
        """Return when each client has had so many more answers."""
        before = [len(each) for each in self.spoken]
        while not self.wrong and any(
            len(each) < count + answers for each, count in zip(self.spoken, before, strict=True)
        ):
            self.over.wait(0.01)


@contextmanager
def crowd(url: str) -> Iterator[Crowd]:
    made = Crowd(url)
    threads = [threading.Thread(target=made.work, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        made.over.set()
        for thread in threads:
            thread.join(120)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two checkpoints."""
    return [write(tmp_path_factory.mktemp("weights"), TINY, seed) for seed in (0, 1)]


def create(live: LiveServer, name: str, root: Path) -> str:
    """Make a model of a checkpoint; gives its digest."""
    with ollama.Client(live.url) as client:
        paths = [path for path in root.rglob("*") if path.suffix in {".json", ".safetensors"}]
        files = {path.relative_to(root).as_posix(): client.create_blob(path) for path in paths}
        client.create(name, files=files, parameters={"num_thread": 1})
        return digest_of(client, name)


def digest_of(client: ollama.Client, name: str) -> str:
    (found,) = (m.digest for m in client.list().models if m.model == f"{name}:latest")
    assert found is not None
    return found


def loaded(live: LiveServer) -> list[str]:
    rows = httpx.get(f"{live.url}/api/ps", timeout=60).json()["models"]
    return [row["digest"] for row in rows]


@pytest.mark.parametrize("room", [3, 1])
def test_running_requests_end_on_the_old_weights_new_ones_start_on_the_new(
    weights: list[Path], tmp_path: Path, room: int
) -> None:
    settings = replace(settings_for(tmp_path / "models"), max_loaded_models=room)
    with serving(settings) as live, crowd_speaking(live, weights[0]) as (old, everyone):
        everyone.wait_for_more()
        new = create(live, "voice", weights[1])
        everyone.wait_for_more()
        everyone.over.set()
        assert everyone.wrong == []
        for spoken in everyone.spoken:
            assert spoken == [old] * spoken.count(old) + [new] * spoken.count(new)
            assert spoken[-1] == new
        live.until(lambda node: [m.digest.hex for m in node.scheduler.loaded()] == [new])


@contextmanager
def crowd_speaking(live: LiveServer, root: Path) -> Iterator[tuple[str, Crowd]]:
    old = create(live, "voice", root)
    with crowd(live.url) as everyone:
        yield old, everyone


def test_a_long_answer_sounds_as_if_nothing_had_happened_and_then_its_memory_goes(
    weights: list[Path], tmp_path: Path
) -> None:
    transport = httpx.HTTPTransport(socket_options=SMALL)
    with (
        serving(settings_for(tmp_path / "models")) as live,
        httpx.Client(base_url=live.url, transport=transport, timeout=120) as http,
    ):
        old = create(live, "voice", weights[0])
        undisturbed = http.post("/api/generate", json=asked(LONG, 24)).content
        with http.stream("POST", "/api/generate", json=asked(LONG, 24)) as answer:
            pieces = answer.iter_raw()
            body = next(pieces)
            new = create(live, "voice", weights[1])
            assert set(loaded(live)) == {old, new}
            body += b"".join(pieces)
        assert lines_of(body)[-1]["audio"]["model_digest"] == old
        assert sound(body) == sound(undisturbed)
        live.until(lambda node: [m.digest.hex for m in node.scheduler.loaded()] == [new])


def sound(body: bytes) -> bytes:
    return base64.b64decode("".join(line["response"] for line in lines_of(body)))


def test_who_waited_for_weights_that_are_gone_gets_the_new_ones(
    weights: list[Path], tmp_path: Path
) -> None:
    with serving(settings_for(tmp_path / "models")) as live:
        create(live, "voice", weights[0])
        client = httpx.Client(base_url=live.url, timeout=120)
        answers: list[httpx.Response] = []
        slow = {"model": "tone", "prompt": "Hi.", "options": {"tone_load_s": 3.0}}

        def speak(body: dict[str, object]) -> None:
            answers.append(client.post("/api/generate", json=body))

        waiting = [threading.Thread(target=speak, args=(body,)) for body in (slow, asked())]
        waiting[0].start()
        live.until(lambda node: len(node.scheduler.loaded()) == 1)
        waiting[1].start()
        live.until(lambda node: node.scheduler.queue_depth == 2)
        new = create(live, "voice", weights[1])
        for thread in waiting:
            thread.join(120)
        client.close()
        assert [answer.status_code for answer in answers] == [200, 200]
        assert lines_of(answers[1].content)[-1]["audio"]["model_digest"] == new
