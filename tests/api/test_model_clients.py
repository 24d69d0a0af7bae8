"""Unmodified clients keep models: create in all its ways, blobs, push, pull, show, copy, delete."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import ollama
import pytest

from ollama_tts.names import Digest
from tests.support.live import LiveServer, serving, settings_for
from tests.support.registry import FakeRegistry
from tests.support.services import MINI, mini_files

FILES = mini_files()
SIZE = sum(map(len, FILES.values()))
SPEAKER = next(iter(json.loads(FILES["speakers.json"]).values()))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server, since blobs may well be there already."""
    with serving(settings_for(tmp_path_factory.mktemp("kept") / "models")) as live:
        yield live


@pytest.fixture
def client(server: LiveServer) -> Iterator[ollama.Client]:
    with ollama.Client(host=server.url) as client:
        yield client


@pytest.fixture
def there() -> Iterator[str]:
    """A name at a registry that is empty."""
    with FakeRegistry().up() as registry:
        yield f"{registry.host}/ns/voice:v1"


@pytest.fixture
def files(client: ollama.Client) -> Mapping[str, str]:
    return {path: client.create_blob(MINI / path) for path in FILES}


@pytest.fixture
def adapters(client: ollama.Client, tmp_path: Path) -> Mapping[str, str]:
    speaker = tmp_path / "anna.txt"
    speaker.write_text(SPEAKER)
    return {"anna.txt": client.create_blob(speaker)}


def digest_of(client: ollama.Client, name: str) -> str:
    [digest] = [model.digest for model in client.list().models if model.model == name]
    assert digest
    return digest


def test_python_makes_models(
    client: ollama.Client, files: Mapping[str, str], adapters: Mapping[str, str]
) -> None:
    assert set(files.values()) == {str(Digest.of(data)) for data in FILES.values()}
    steps = client.create(
        "made", files=dict(files), adapters=dict(adapters), quantize="q8_0",
        parameters={"speed": 1.25}, license=["Mine.", "Yours."], system="calm",
        messages=[{"role": "user", "content": "Hello."}], stream=True,
    )  # fmt: skip
    assert [step.status for step in steps][-2:] == ["writing manifest", "success"]
    shown = client.show("made")
    assert shown.details is not None
    assert (shown.details.family, shown.details.quantization_level) == ("chattts", "Q8_0")
    assert shown.modelinfo is not None
    assert shown.modelinfo["general.architecture"] == "chattts"
    assert "speed" in (shown.parameters or "")
    assert "Mine." in (shown.license or "")
    [size] = [model.size for model in client.list().models if model.model == "made:latest"]
    assert size is not None
    assert size < 0.7 * SIZE


def test_python_derives_models(client: ollama.Client) -> None:
    assert client.create("calm", from_="tone", parameters={"speed": 0.8}).status == "success"
    assert "0.8" in (client.show("calm").parameters or "")
    client.copy("calm", "calmer")
    client.delete("calm")
    names = {model.model for model in client.list().models}
    assert "calmer:latest" in names
    assert "calm:latest" not in names
    with pytest.raises(ollama.ResponseError, match="not found"):
        client.show("calm")
    client.delete("calmer")


def test_python_sends_and_fetches_models(
    client: ollama.Client, files: Mapping[str, str], there: str
) -> None:
    client.create(there, files=dict(files))
    before, shown = digest_of(client, there), client.show(there)
    steps = [step.status for step in client.push(there, insecure=True, stream=True)]
    assert (steps[0], steps[-1]) == ("retrieving manifest", "success")
    client.delete(there)
    assert there not in {model.model for model in client.list().models}
    steps = [step.status for step in client.pull(there, insecure=True, stream=True)]
    assert (steps[0], steps[-1]) == ("pulling manifest", "success")
    assert digest_of(client, there) == before
    assert client.show(there).modelinfo == shown.modelinfo
    client.delete(there)


async def test_python_asynchronously(server: LiveServer, there: str) -> None:
    async with ollama.AsyncClient(host=server.url) as client:
        digest = await client.create_blob(MINI / "config.json")
        assert digest == str(Digest.of(FILES["config.json"]))
        await client.create(there, from_="tone", parameters={"speed": 1.5})
        assert (await client.push(there, insecure=True)).status == "success"
        await client.delete(there)
        last = [step async for step in await client.pull(there, insecure=True, stream=True)][-1]
        assert last.status == "success"
        await client.copy(there, "here")
        assert "1.5" in ((await client.show("here")).parameters or "")
        await client.delete("here")


def test_javascript_does_the_same(
    server: LiveServer,
    js_folder: Path,
    files: Mapping[str, str],
    adapters: Mapping[str, str],
    there: str,
) -> None:
    plan = json.dumps({"files": dict(files), "adapters": dict(adapters)})
    done = subprocess.run(
        ["node", "ollama_models.mjs", server.url, there, plan],
        cwd=js_folder, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert seen["made"][-1] == seen["calm"] == seen["pushed"][-1] == seen["pulled"][-1] == "success"
    assert seen["pulled"][0] == "pulling manifest"
    assert seen["pushed"][0] == "retrieving manifest"
    assert seen["pulled_again"] == "success"
    assert seen["shown"]["details"]["quantization_level"] == "Q8_0"
    assert "0.8" in seen["parameters"]
    assert there not in seen["gone"]
    assert seen["digest"]
    assert seen["same"] == seen["digest"]


def test_voices_of_a_made_model_are_listed_and_each_is_taken(
    client: ollama.Client,
    server: LiveServer,
    files: Mapping[str, str],
    adapters: Mapping[str, str],
) -> None:
    speaker = {"zoe.txt": adapters["anna.txt"]}
    client.create(model="voiced", files=dict(files), adapters=speaker)
    found = httpx.get(f"{server.url}/v1/audio/voices?model=voiced", timeout=60).json()["voices"]
    assert [entry["id"] for entry in found] == ["zoe", "anna", "ben"]
    every = httpx.get(f"{server.url}/v1/audio/voices", timeout=60).json()["voices"]
    assert all(entry in every for entry in found)
    assert {entry["model"] for entry in found} == {"voiced:latest"}
    for entry in found:
        assert (
            client.generate("voiced", "Hi.", options={"voice": entry["id"]}).done_reason == "stop"
        )


def test_a_damaged_model_leaves_the_list_of_voices_whole(
    client: ollama.Client, server: LiveServer, files: Mapping[str, str]
) -> None:
    client.create(model="damaged", files=dict(files))
    store = server.read(lambda node: node.models.resolve("damaged"))
    config = store.files["config.json"]
    kept = config.read_bytes()
    config.write_bytes(b"{")
    try:
        answer = httpx.get(f"{server.url}/v1/audio/voices", timeout=60)
    finally:
        config.write_bytes(kept)
    assert answer.status_code == 200
    models = {entry["model"] for entry in answer.json()["voices"]}
    assert "tone:latest" in models
    assert "damaged:latest" not in models
