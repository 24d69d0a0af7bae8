"""The audio cache over the wire: what is a hit, what is never one, shown, emptied, filled."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from ollama_tts import AsyncClient, Client
from ollama_tts.errors import Failed, InvalidRequest
from tests.support.live import LiveServer, serving, settings_for
from tests.support.services import mini_files
from tests.support.stores import upload

FORMATS = ("wav", "pcm", "mp3", "opus", "flac", "aac")
TEXT = "Kept once. Heard again, as often as one likes."


@pytest.fixture(scope="module")
def with_mini(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with a small chattts model, whose sound depends on everything."""
    with serving(settings_for(tmp_path_factory.mktemp("mini") / "models")) as server:
        store = server.read(lambda node: node.store)
        files = {name: str(upload(store, data)) for name, data in mini_files().items()}
        made = {"model": "mini", "files": files, "stream": False}
        assert httpx.post(f"{server.url}/api/create", json=made, timeout=60).is_success
        yield server


def spoken(
    url: str, *, model: str = "mini", prompt: str = "hello there", **options: object
) -> dict[str, Any]:
    """The answer to one request, as one object."""
    body = {"model": model, "prompt": prompt, "stream": False, "options": options}
    answer = httpx.post(f"{url}/api/generate", json=body, timeout=100)
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_every_audible_change_is_new_sound(with_mini: LiveServer) -> None:
    """pc-041. The format is made anew from kept sound, so a change of it alone may be a hit."""
    url = with_mini.url
    base: dict[str, Any] = {"seed": 1, "voice": "seed:1"}
    first = spoken(url, **base)
    assert (first["done_reason"], first["audio"]["cache_hits"]) == ("stop", 0)
    changes: tuple[dict[str, Any], ...] = (
        {"voice": "seed:2"}, {"speed": 1.5}, {"temperature": 0.9}, {"seed": 2}, {"num_predict": 20},
    )  # fmt: skip
    for change in changes:
        assert spoken(url, **{**base, **change})["audio"]["cache_hits"] == 0, change
    assert spoken(url, prompt="hello where", **base)["audio"]["cache_hits"] == 0
    pcm = spoken(url, **base, audio_format="pcm")
    assert pcm["audio"]["mime_type"].startswith("audio/pcm")
    wrong = {"model": "mini", "prompt": "hello there", "options": {**base, "voice": "nobody"}}
    assert httpx.post(f"{url}/api/generate", json=wrong).status_code == 400
    remade = {"model": "mini", "from": "mini", "system": "another", "stream": False}
    assert httpx.post(f"{url}/api/create", json=remade, timeout=60).is_success
    assert spoken(url, **base)["audio"]["cache_hits"] == 0
    last = spoken(url, **base)
    assert last["audio"]["cache_hits"] == 1


def test_without_a_seed_a_take_is_kept_only_where_it_is_asked_for(with_mini: LiveServer) -> None:
    url, text = with_mini.url, "hello three"
    for _ in range(2):
        assert spoken(url, prompt=text)["audio"]["cache_hits"] == 0
    kept = spoken(url, prompt=text, cache=True)
    assert kept["audio"]["cache_hits"] == 0
    again = spoken(url, prompt=text, cache=True)
    assert again["audio"]["cache_hits"] == 1
    assert again["response"] == kept["response"]
    for _ in range(2):
        assert spoken(url, prompt=text, seed=5, cache=False)["audio"]["cache_hits"] == 0


@pytest.mark.parametrize("audio_format", FORMATS)
@pytest.mark.parametrize("streamed", [False, True])
def test_kept_sound_is_the_fresh_one_byte_for_byte(
    shared: LiveServer, audio_format: str, streamed: bool
) -> None:
    options = {"audio_format": audio_format, "sample_rate": 16_000, "seed": 3, "gain_db": 3.0}
    fresh, put, kept = (
        sound(shared.url, streamed=streamed, options={**options, **more})
        for more in ({"cache": False}, {}, {})
    )
    assert len(fresh) > 1000
    assert fresh == put == kept


def sound(url: str, *, streamed: bool, options: dict[str, object]) -> bytes:
    """The file of one answer."""
    body = {"model": "hibari", "prompt": TEXT, "stream": streamed, "options": options}
    headers = {"Accept": "application/octet-stream"}
    answer = httpx.post(f"{url}/api/generate", json=body, headers=headers, timeout=60)
    answer.raise_for_status()
    return answer.content


def test_sounds_are_forgotten_by_model_and_all(live: LiveServer, own_http: httpx.Client) -> None:
    copied = {"model": "echo", "from": "tone", "parameters": {"speed": 1.5}, "stream": False}
    assert own_http.post("/api/create", json=copied).is_success
    three = "Number one. Number two. Number three."
    for model in ("tone", "echo"):
        assert spoken(live.url, model=model, prompt=three)["audio"]["utterances"] == 3
    state = own_http.get("/api/cache").json()
    assert state["memory"]["sounds"] == 6
    assert 0 < state["memory"]["size"] <= state["memory"]["budget"]
    assert state["disk"] == {"sounds": 0, "size": 0, "budget": 0}
    assert live.metric("ollama_tts_cache_bytes") == state["memory"]["size"]
    freed = own_http.request("DELETE", "/api/cache", json={"model": "ECHO:latest"}).json()
    assert freed["memory"]["sounds"] == 3
    assert spoken(live.url, model="tone", prompt=three)["audio"]["cache_hits"] == 3
    assert spoken(live.url, model="echo", prompt=three)["audio"]["cache_hits"] == 0
    assert own_http.delete("/api/cache").json()["memory"]["sounds"] == 6
    assert own_http.get("/api/cache").json()["memory"]["size"] == 0
    missing = own_http.request("DELETE", "/api/cache", json={"model": "nobody"})
    assert missing.status_code == 404
    assert missing.json() == {"error": "model 'nobody' not found"}


def test_warmed_texts_are_there_and_bad_ones_are_named(
    live: LiveServer, own_http: httpx.Client
) -> None:
    texts = ["A warm first. A warm second.", "…", "A warm first."]
    body: dict[str, object] = {"model": "tone", "prompts": texts}
    lines = own_http.post("/api/cache", json=body).text.splitlines()
    assert len([line for line in lines if '"warming"' in line]) == 4
    assert any('"text 2: ' in line for line in lines)
    assert '"2 utterances spoken, 1 were there"' in lines[-2]
    assert lines[-1] == '{"error":"1 of 3 texts could not be spoken"}'
    told = spoken(live.url, model="tone", prompt="A warm second. A warm first.")
    assert told["audio"]["cache_hits"] == 2
    good = own_http.post("/api/cache", json={"model": "tone", "prompts": ["a"], "stream": False})
    assert good.json() == {"status": "success"}
    assert live.metric("ollama_tts_requests_total", surface="warm", outcome="ok") == 3
    for wrong in ({}, {"model": "tone"}, {"model": "tone", "prompts": [" "]}):
        assert own_http.post("/api/cache", json=wrong).status_code == 400
    assert own_http.post("/api/cache", json={**body, "model": "x"}).status_code == 404


def test_a_body_without_a_model_forgets_nothing(live: LiveServer, own_http: httpx.Client) -> None:
    spoken(live.url, model="tone", prompt="Kept.")
    for body in ({"modell": "tone"}, {"model": ""}, {"model": None}):
        refused = own_http.request("DELETE", "/api/cache", json=body)
        assert refused.status_code == 400
        assert refused.json() == {"error": "'model' is required (without a body all is forgotten)"}
    with Client(live.url) as client, pytest.raises(InvalidRequest, match="'model' is required"):
        client.forget("")
    assert own_http.get("/api/cache").json()["memory"]["sounds"] == 1
    assert own_http.request("DELETE", "/api/cache", json={}).json()["memory"]["sounds"] == 1


def test_all_models_of_a_split_are_warmed_and_forgotten(
    live: LiveServer, own_http: httpx.Client
) -> None:
    for body in (
        {"model": "slow", "from": "tone", "parameters": {"speed": 0.75}},
        {"model": "inner", "from": "tone", "parameters": {"split": "tone:1,slow:1"}},
        {"model": "ab", "from": "tone", "parameters": {"split": "inner:0,hibari:1"}},
    ):
        assert own_http.post("/api/create", json={**body, "stream": False}).is_success
    asked = {"model": "ab", "prompts": ["", "Hello.", "…", "Hello."], "options": {"seed": 1}}
    lines = own_http.post("/api/cache", json=asked).text.splitlines()
    assert next(line for line in lines if "(tone:latest)" in line).startswith(
        '{"status":"text 3 (tone:latest): '
    )
    assert lines[-2] == '{"status":"3 utterances spoken, 3 were there"}'
    assert lines[-1] == '{"error":"1 of 3 texts could not be spoken"}'
    for model in ("tone", "slow", "hibari", "ab"):
        told = spoken(live.url, model=model, prompt="Hello.", seed=1)
        assert told["audio"]["cache_hits"] == 1, model
    freed = own_http.request("DELETE", "/api/cache", json={"model": "inner"}).json()
    assert freed["memory"]["sounds"] == 2
    assert own_http.get("/api/cache").json()["memory"]["sounds"] == 1
    one = {**asked, "options": {"SPLIT": "slow:1"}}
    lines = own_http.post("/api/cache", json=one).text.splitlines()
    assert lines[-2] == '{"status":"1 utterances spoken, 1 were there"}'
    never = own_http.post("/api/cache", json={**asked, "options": {"cache": False}})
    assert never.status_code == 400
    assert "'cache' cannot be false" in never.json()["error"]


def test_warming_ends_when_the_server_is_to_stop(live: LiveServer, own_http: httpx.Client) -> None:
    asked = {"model": "tone", "prompts": ["Again."] * 50_000}
    with own_http.stream("POST", "/api/cache", json=asked) as answer:
        lines = answer.iter_lines()
        assert '"warming"' in next(lines)
        live.read(lambda node: node.drain())
        *_, last = lines
    assert last.startswith('{"error":"the server is shutting down; ')
    assert last.endswith(' of 50000 texts are done"}')


async def test_clients_warm_and_forget(live: LiveServer) -> None:
    with Client(live.url) as client:
        client.warm(["Said before."], "tone", speed=1.25)
        assert client.forget("tone").memory.sounds == 1
    async with AsyncClient(live.url) as waiting:
        await waiting.warm(["Said before.", "So was this."], "tone")
        assert (await waiting.forget()).memory.sounds == 2
        with pytest.raises(Failed, match="1 of 1"):
            await waiting.warm(["…"], "tone")


def test_where_there_is_no_cache_nothing_is_kept(tmp_path: Path) -> None:
    with serving(replace(settings_for(tmp_path / "models"), cache_bytes=0)) as server:
        for _ in range(2):
            assert spoken(server.url, model="tone")["audio"]["cache_hits"] == 0
        asked = {"model": "tone", "prompts": ["a"]}
        refused = httpx.post(f"{server.url}/api/cache", json=asked)
        assert refused.status_code == 400
        assert "OLLAMA_TTS_CACHE_BYTES" in refused.json()["error"]
        assert httpx.delete(f"{server.url}/api/cache").json()["memory"]["sounds"] == 0


def test_a_folder_of_sounds_outlives_the_server(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), cache_dir=tmp_path / "sounds")
    with serving(settings) as first:
        fresh = spoken(first.url, model="tone", prompt=TEXT)
    with serving(settings) as second:
        kept = spoken(second.url, model="tone", prompt=TEXT)
        assert kept["audio"]["cache_hits"] == kept["audio"]["utterances"] == 2
        assert kept["response"] == fresh["response"]
        assert httpx.get(f"{second.url}/api/cache").json()["disk"]["sounds"] == 2
    for path in (tmp_path / "sounds").glob("??/*"):
        data = bytearray(path.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
    with serving(settings) as third:
        anew = spoken(third.url, model="tone", prompt=TEXT)
        assert anew["audio"]["cache_hits"] == 0
        assert anew["response"] == fresh["response"]


def test_repeats_cost_no_work(live: LiveServer) -> None:
    def steps() -> float:
        return live.metric("ollama_tts_codec_steps_total")

    drawn = random.Random(1).choices(range(12), [1 / rank for rank in range(1, 13)], k=20)
    for number in sorted(set(drawn)):
        spoken(live.url, model="tone", prompt=f"Text number {number}.", cache=False)
    once = steps()
    for number in drawn:
        spoken(live.url, model="tone", prompt=f"Text number {number}.")
    assert steps() == 2 * once
    repeats = len(drawn) - len(set(drawn))
    assert live.metric("ollama_tts_cache_requests_total", result="hit") == repeats > 5
