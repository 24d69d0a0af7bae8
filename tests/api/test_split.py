"""A model that splits its requests, over the wire: whose sound came, sticky clients, refusals."""

from collections import Counter
from collections.abc import Callable

import httpx
import ollama
import pytest

from tests.support.live import LiveServer
from tests.support.tone_listener import listen_s16

Ask = Callable[..., httpx.Response]


@pytest.fixture
def digests(live: LiveServer, own_http: httpx.Client) -> dict[str, str]:
    """Two voices and a model that splits 3 to 1 between them: name → digest."""
    with ollama.Client(live.url) as client:
        client.create("one", from_="tone", parameters={"gain_db": -1.0})
        client.create("two", from_="tone", parameters={"gain_db": -2.0})
        client.create("both", from_="one", parameters={"split": "one:75,two:25"})
    return {m["name"].removesuffix(":latest"): m["digest"]
            for m in own_http.get("/api/tags").json()["models"]}  # fmt: skip


def speak(http: httpx.Client, model: str = "both", **headers: str) -> str:
    """The digest of the model that spoke, once it was heard to say the text."""
    asked = {"model": model, "prompt": "Hello.", "options": {"audio_format": "pcm"}}
    answer = http.post(
        "/api/generate", json=asked, headers={"Accept": "audio/pcm", **headers}
    )  # fmt: skip
    assert listen_s16(answer.content, 24_000) == "Hello."
    body = http.post("/api/generate", json={**asked, "stream": False}, headers=headers).json()
    return str(body["audio"]["model_digest"])


def test_requests_go_to_both_and_the_answer_says_to_which(
    live: LiveServer, own_http: httpx.Client, digests: dict[str, str]
) -> None:
    asked = {"model": "both", "prompt": "Hi.", "stream": False}
    heard = Counter(
        own_http.post("/api/generate", json=asked).json()["audio"]["model_digest"]
        for _ in range(60)
    )
    assert set(heard) == {digests["one"], digests["two"]}
    by_place = {
        digests[name]: live.metric("ollama_tts_split_requests_total", place=place)
        for name, place in (("one", "1"), ("two", "2"))
    }
    assert by_place == dict(heard)


def test_a_client_that_names_itself_keeps_its_model(
    own_http: httpx.Client, digests: dict[str, str]
) -> None:
    chosen = {
        name: {speak(own_http, **{"X-Client-Id": name}) for _ in range(3)} for name in "abcdefgh"
    }
    assert all(len(models) == 1 for models in chosen.values())
    spoken = [
        own_http.post(
            "/v1/audio/speech",
            json={"model": "both", "input": "Hi.", "response_format": "pcm", "user": name},
        ).status_code
        for name in "ab"
    ]
    assert spoken == [200, 200]
    assert set.union(*chosen.values()) <= {digests["one"], digests["two"]}


def test_loading_it_loads_both_and_unloading_lets_both_go(
    live: LiveServer, own_http: httpx.Client, digests: dict[str, str]
) -> None:
    assert own_http.post("/api/generate", json={"model": "both"}).json()["done_reason"] == "load"
    assert digests
    unload = {"model": "both", "keep_alive": 0}
    assert own_http.post("/api/generate", json=unload).json()["done_reason"] == "unload"
    live.until(lambda node: not node.scheduler.loaded())


def test_a_model_that_is_gone_and_one_that_leads_back_are_told(
    live: LiveServer, own_http: httpx.Client, digests: dict[str, str]
) -> None:
    assert digests
    with pytest.raises(ollama.ResponseError, match="circle: both:latest → both:latest") as circle:
        create(live, "both", "one", "both:1")
    assert circle.value.status_code == 400
    with pytest.raises(ollama.ResponseError, match="model 'three:latest' not found"):
        create(live, "other", "one", "one:1,three:1")
    with pytest.raises(ollama.ResponseError, match="'x' of 'one' is no number"):
        create(live, "other", "one", "one:x")
    create(live, "outer", "one", "both:1")
    with pytest.raises(
        ollama.ResponseError, match="circle: both:latest → outer:latest → both:latest"
    ):
        create(live, "both", "one", "outer:1")
    own_http.request("DELETE", "/api/delete", json={"model": "two"})
    asked = {"model": "outer", "prompt": "Hi.", "stream": False, "options": {"split": "two:1"}}
    answer = own_http.post("/api/generate", json=asked)
    assert answer.status_code == 404
    assert answer.json()["error"] == "model 'two:latest' not found (split of 'outer:latest')"


def create(live: LiveServer, name: str, base: str, split: str) -> None:
    with ollama.Client(live.url) as client:
        client.create(name, from_=base, parameters={"split": split})
