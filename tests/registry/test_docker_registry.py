"""Against a registry that others wrote: Debian's docker-registry, with and without Basic auth."""

import asyncio
from collections.abc import Iterator, Mapping

import httpx
import pytest

from ollama_tts.config import Credentials
from ollama_tts.errors import ModelNotFound, Unauthorized
from ollama_tts.names import Digest, ModelName
from ollama_tts.registry.download import Cut
from tests.registry.conftest import Placed
from tests.support.docker_registry import docker_registry, unavailable
from tests.support.pulls import PART_BYTES

WEIGHTS = bytes(range(256)) * 256 * 12
DIGEST = Digest.of(WEIGHTS)
LOGIN = Credentials("reader", "pass-word")
CUT = Cut(PART_BYTES, 3, 16 * 1024, chunk_bytes=200_000)


@pytest.fixture(scope="module", params=[False, True], ids=["open", "basic"])
def basic(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def host(basic: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    with docker_registry(tmp_path_factory.mktemp("registry"), basic=basic) as up:
        yield up


@pytest.fixture
def auth(basic: bool, host: str) -> Mapping[str, Credentials]:
    return {host: LOGIN} if basic else {}


@pytest.fixture
def name(host: str, request: pytest.FixtureRequest) -> str:
    """A repository of its own for each test."""
    return f"{host}/ns/{request.node.originalname}"


async def test_pushed_here_pulled_there(
    placed: Placed, name: str, auth: Mapping[str, Credentials]
) -> None:
    here, there = placed("here", auth=auth, cut=CUT), placed("there", auth=auth, cut=CUT)
    manifest = here.commit(name, {"a.safetensors": WEIGHTS, "b.json": b"{}", "empty.json": b""})
    for _ in range(2):
        assert (await here.push(name))[-1].status == "success"
        assert (await there.pull(name))[-1].status == "success"
    assert there.manifest(name) == manifest
    assert there.store.blobs.path(DIGEST).read_bytes() == WEIGHTS
    assert there.names() == here.names()


async def test_a_tag_moves(placed: Placed, name: str, auth: Mapping[str, Credentials]) -> None:
    here, there = placed("here", auth=auth), placed("there", auth=auth)
    here.commit(name, {"a.safetensors": WEIGHTS})
    await here.push(name)
    await there.pull(name)
    moved = here.commit(name, {"a.safetensors": b"other"})
    await here.push(name)
    words = [line.status for line in await there.pull(name)]
    assert words[-2:] == ["removing unused layers", "success"]
    assert there.manifest(name) == moved
    assert not there.store.blobs.has(DIGEST)


async def test_two_pullers(placed: Placed, name: str, auth: Mapping[str, Credentials]) -> None:
    here, there = placed("here", auth=auth), placed("there", auth=auth)
    here.commit(name, {"a.safetensors": WEIGHTS})
    here.commit(f"{name}:v2", {"a.safetensors": WEIGHTS, "b.json": b"{}"})
    await asyncio.gather(here.push(name), here.push(f"{name}:v2"))
    await asyncio.gather(there.pull(name), there.pull(f"{name}:v2"), there.pull(name))
    assert there.store.get(ModelName.parse(f"{name}:v2")).files["a.safetensors"].is_file()
    assert there.partials() == []


async def test_what_is_listed(
    placed: Placed, host: str, name: str, auth: Mapping[str, Credentials]
) -> None:
    here = placed(auth=auth)
    here.commit(f"{name}:v7", {"a.json": b"{}"})
    await here.push(f"{name}:v7")
    path = name.partition("/")[2]
    login = ("reader", "pass-word") if auth else None
    async with httpx.AsyncClient(auth=login) as client:
        answer = await client.get(f"http://{host}/v2/{path}/tags/list")
    assert answer.json() == {"name": path, "tags": ["v7"]}


async def test_nothing_there(placed: Placed, name: str, auth: Mapping[str, Credentials]) -> None:
    with pytest.raises(ModelNotFound, match=r"^pull model manifest: file does not exist: 127"):
        await placed(auth=auth).pull(name)


async def test_without_the_password(placed: Placed, name: str, basic: bool) -> None:
    here = placed()
    here.commit(name, {"a.json": b"{}"})
    if not basic:
        assert (await here.push(name))[-1].status == "success"
        return
    with pytest.raises(Unauthorized, match="access denied"):
        await here.push(name)
    with pytest.raises(Unauthorized, match="access denied"):
        await here.pull(name)


async def test_a_layer_that_another_repository_has_is_mounted(
    placed: Placed, host: str, name: str, auth: Mapping[str, Credentials]
) -> None:
    here = placed(auth=auth)
    here.commit(name, {"a.safetensors": WEIGHTS})
    await here.push(name)
    other = ModelName.parse(f"{host}/ns/other")
    repository = await here.registries.repository(other, insecure=True)
    assert await repository.begin_upload(DIGEST, name.partition("/")[2]) is None
    assert await repository.has(DIGEST)
