from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from ollama_tts.errors import (
    Forbidden,
    InvalidName,
    InvalidRequest,
    ModelNotFound,
    OllamaTTSError,
    Unauthorized,
    UpstreamFailed,
)
from ollama_tts.options import LoadOptions
from ollama_tts.protocol.ollama import (
    CopyRequest,
    DeleteRequest,
    PullRequest,
    PushRequest,
    ShowRequest,
)
from ollama_tts.service.events import Progress
from tests.support.services import Services, services, statuses
from tests.support.stores import commit


@pytest.fixture
def node(tmp_path: Path) -> Services:
    return services(tmp_path / "models")


async def refusal(work: Callable[[], object], kind: type[OllamaTTSError]) -> str:
    with pytest.raises(kind) as caught:
        await work()  # type: ignore[misc]  # each caller gives a coroutine function
    assert type(caught.value) is kind
    return str(caught.value)


async def test_list_is_newest_first_and_names_stand_twice(node: Services) -> None:
    commit(node.store, "ns/A:t")
    first = (await node.models.list()).models[0]
    assert (first.name, first.model) == ("ns/A:t", "ns/A:t")
    assert first.digest == node.get("ns/a:t").digest.hex
    assert first.modified_at.tzinfo is not None
    assert (first.details.format, first.details.families) == ("tone", ["tone"])
    assert {"hibari:latest", "tone:latest"} <= {m.name for m in (await node.models.list()).models}


@pytest.mark.parametrize("name", ["tone", "TONE:latest", "Tone:LATEST", "tone:local", " tone "])
def test_whatever_names_a_model_resolves(node: Services, name: str) -> None:
    assert node.models.resolve(name) == node.get("tone")


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("", ModelNotFound, "model '' not found"),
        ("nope", ModelNotFound, "model 'nope' not found"),
        ("NOPE:v1", ModelNotFound, "model 'NOPE:v1' not found"),
        ("a/b/c/d", InvalidName, "invalid model name"),
        ("a:cloud:local", InvalidName, 'use either :local or :cloud, not both: "a:cloud:local"'),
    ],
)
def test_what_does_not_resolve(node: Services, name: str, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        node.models.resolve(name)
    assert str(caught.value) == text


async def test_show_reads_name_where_model_is_empty(node: Services) -> None:
    shown = await node.models.show(ShowRequest(model="", name="Tone"))
    assert shown.details.format == "tone"
    assert shown.modelfile.count("Tone:latest") == 2


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("", InvalidRequest, "model is required"),
        ("nope", ModelNotFound, "model 'nope:latest' not found"),
        ("a/b/c/d", InvalidName, "invalid model name"),
    ],
)
async def test_show_refusals(
    node: Services, name: str, kind: type[OllamaTTSError], text: str
) -> None:
    assert await refusal(lambda: node.show(name), kind) == text


async def test_copy(node: Services) -> None:
    await node.models.copy(CopyRequest(source="TONE", destination="ns/copy:v1"))
    assert node.get("ns/copy:v1").digest == node.get("tone").digest


@pytest.mark.parametrize(
    ("source", "destination", "kind", "text"),
    [
        ("", "y", InvalidName, 'source "" is invalid'),
        ("../x", "y", InvalidName, 'source "../x" is invalid'),
        ("tone", "a b", InvalidName, 'destination "a b" is invalid'),
        ("nope", "y", ModelNotFound, 'model "nope" not found'),
    ],
)
async def test_copy_refusals(
    node: Services, source: str, destination: str, kind: type[OllamaTTSError], text: str
) -> None:
    request = CopyRequest(source=source, destination=destination)
    assert await refusal(lambda: node.models.copy(request), kind) == text


async def test_delete(node: Services) -> None:
    await node.models.delete(DeleteRequest(model="", name="TONE"))
    assert "tone:latest" not in node.names()


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("", InvalidRequest, "model is required"),
        ("../x", InvalidName, 'name "../x" is invalid'),
        ("gpt-oss:20b:local", ModelNotFound, "model 'gpt-oss:20b:local' not found"),
        ("a:cloud:local", InvalidName, 'use either :local or :cloud, not both: "a:cloud:local"'),
    ],
)
async def test_delete_refusals(
    node: Services, name: str, kind: type[OllamaTTSError], text: str
) -> None:
    assert await refusal(lambda: node.models.delete(DeleteRequest(model=name)), kind) == text


async def test_a_deleted_model_leaves_memory_with_its_last_name(node: Services) -> None:
    await node.models.copy(CopyRequest(source="tone", destination="same"))
    async with node.scheduler.lease(node.get("tone"), LoadOptions(), 60.0):
        pass
    assert [m.name for m in node.models.ps().models] == ["tone:latest"]
    await node.models.delete(DeleteRequest(model="tone"))
    assert [m.size_vram for m in node.models.ps().models] == [0]
    await node.models.delete(DeleteRequest(model="same"))
    assert node.models.ps().models == []


async def test_a_model_that_speaks_is_deleted_and_speaks_on(node: Services) -> None:
    async with node.scheduler.lease(node.get("tone"), LoadOptions(), 60.0) as lease:
        await node.models.delete(DeleteRequest(model="tone"))
        assert lease.runner.count("abc") == 3
    await node.scheduler.shutdown()


async def test_pull_brings_a_package_voice_back(node: Services) -> None:
    before = node.get("tone").digest
    await node.models.delete(DeleteRequest(model="tone"))
    lines = [line async for line in node.models.pull(PullRequest(model="Tone"))]
    assert [line.status for line in lines if not line.digest] == [
        "pulling manifest",
        "verifying sha256 digest",
        "writing manifest",
        "success",
    ]
    assert all(line.total == line.completed > 0 for line in lines if line.digest)
    assert node.get("tone").digest == before


async def test_pull_of_a_voice_that_is_there(node: Services) -> None:
    assert (await statuses(node.models.pull(PullRequest(model="tone"))))[-1] == "success"


@pytest.mark.parametrize("name", ["", "a/b/c/d", "a b"])
async def test_pull_refuses_a_bad_name_before_the_first_status(node: Services, name: str) -> None:
    assert (
        await refusal(lambda: anext(node.models.pull(PullRequest(model=name))), InvalidName)
        == "invalid model name"
    )


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("127.0.0.1:9/ns/m", UpstreamFailed, 'Get "https://127.0.0.1:9/v2/ns/m/manifests/latest"'),
        ("nope", Forbidden, r"registry.ollama.ai is not among .*hibari, .*tone"),
        ("tone:v2", Forbidden, r"OLLAMA_TTS_REGISTRIES .*hibari, .*tone"),
        ("chattts", Forbidden, "huggingface.co is not among the registries"),
        ("hf.co/a/b", Forbidden, "huggingface.co is not among the registries"),
    ],
)
async def test_pull_of_anything_else_fails_after_the_first_status(
    node: Services, name: str, kind: type[Exception], text: str
) -> None:
    async with aclosing(node.models.pull(PullRequest(model=name))) as lines:
        assert await anext(lines) == Progress("pulling manifest")
        with pytest.raises(kind, match=f"^pull model manifest: .*{text}"):
            await anext(lines)


async def test_push_of_nothing(node: Services) -> None:
    async with aclosing(node.models.push(PushRequest(model="ns/nope"))) as lines:
        assert await anext(lines) == Progress("retrieving manifest")
        assert await anext(lines) == Progress("couldn't retrieve manifest")
        with pytest.raises(ModelNotFound, match="model 'ns/nope:latest' not found"):
            await anext(lines)


@pytest.mark.parametrize(("name", "kind"), [("tone", Unauthorized), ("a/b/c/d", InvalidName)])
async def test_push_refuses_after_one_status(
    node: Services, name: str, kind: type[Exception]
) -> None:
    async with aclosing(node.models.push(PushRequest(model=name))) as lines:
        assert await anext(lines) == Progress("retrieving manifest")
        with pytest.raises(kind):
            await anext(lines)


async def test_push_without_a_name(node: Services) -> None:
    text = await refusal(lambda: anext(node.models.push(PushRequest())), InvalidRequest)
    assert text == "model is required"
