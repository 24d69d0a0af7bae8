"""Against a registry that others wrote: Debian's docker-registry, with and without Basic auth."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from ollama_tts.config import Credentials
from ollama_tts.errors import ModelNotFound, Unauthorized, UpstreamFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.registry.download import Cut
from tests.registry.conftest import Placed
from tests.support.docker_registry import PATIENCE_S, docker_registry, unavailable
from tests.support.pulls import PART_BYTES, cut_in
from tests.support.relay import Relay

WEIGHTS = bytes(range(256)) * 256 * 12
DIGEST = Digest.of(WEIGHTS)
LOGIN = Credentials("reader", "pass-word")
CUT = Cut(PART_BYTES, 3, 16 * 1024, chunk_bytes=200_000)
LARGE = bytes(range(256)) * 256 * 64
LARGE_PART = len(LARGE) // 16


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


@pytest.fixture
def relay(host: str) -> Iterator[Relay]:
    with Relay(host).running() as up:
        yield up


def killed_halfway(doing: str, models_dir: Path, name: str, caught_up: Callable[[], bool]) -> None:
    """Begin a pull or push in another process, and kill -9 it."""
    command = [sys.executable, "-m", "tests.support.killed_transfer", doing]
    with subprocess.Popen([*command, str(models_dir), name, str(LARGE_PART)]) as process:
        try:
            wait_until(caught_up)
        finally:
            process.kill()


def wait_until(true: Callable[[], bool]) -> None:
    """Return once something is true; fail if it never is."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_pull_that_is_killed_goes_on(
    placed: Placed, name: str, auth: Mapping[str, Credentials], relay: Relay, tmp_path: Path
) -> None:
    here = placed("here", auth=auth, cut=cut_in(LARGE_PART))
    manifest = here.commit(name, {"a.safetensors": LARGE})
    await here.push(name)
    path = name.partition("/")[2]
    login = "reader:pass-word@" if auth else ""
    models_dir = tmp_path / "there" / "models"
    half = relay.hold_down = len(LARGE) // 2
    killed_halfway(
        "pull",
        models_dir,
        f"http://{login}{relay.host}/{path}",
        lambda: recorded_bytes(models_dir) >= half - LARGE_PART // 2,
    )
    first = relay.down
    relay.release()
    there = placed("there", auth={relay.host: LOGIN} if auth else {}, cut=cut_in(LARGE_PART))
    assert there.names() == set()
    await there.pull(f"{relay.host}/{path}")
    assert there.manifest(f"{relay.host}/{path}") == manifest
    assert there.store.blobs.path(Digest.of(LARGE)).read_bytes() == LARGE
    assert there.partials() == []
    assert first + relay.down <= len(LARGE) + LARGE_PART


def recorded_bytes(models_dir: Path) -> int:
    """How much of the one blob on its way a later process would find."""
    for record in (models_dir / "blobs").glob("*-partial.json"):
        return sum(done for _, _, done in json.loads(record.read_bytes())["parts"])
    return 0


async def test_a_push_that_is_killed_is_made_good(
    placed: Placed, name: str, auth: Mapping[str, Credentials], relay: Relay, tmp_path: Path
) -> None:
    path = name.partition("/")[2]
    name = f"{relay.host}/{path}"
    login = {relay.host: LOGIN} if auth else {}
    here, there = placed("here", auth=login), placed("there", auth=login)
    manifest = here.commit(name, {"first.safetensors": WEIGHTS, "large.safetensors": LARGE})
    relay.hold_up = len(WEIGHTS) + len(LARGE) // 2
    shown = "reader:pass-word@" if auth else ""
    models_dir = tmp_path / "here" / "models"
    killed_halfway("push", models_dir, f"http://{shown}{name}", lambda: relay.held)
    relay.release()
    with pytest.raises(ModelNotFound):
        await there.pull(name)
    await here.push(name)
    assert len(LARGE) < relay.up < len(LARGE) + len(WEIGHTS)  # the first blob was there
    await there.pull(name)
    assert there.manifest(name) == manifest
    assert there.store.blobs.path(Digest.of(LARGE)).read_bytes() == LARGE


async def test_over_https(
    placed: Placed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, basic: bool
) -> None:
    root = tmp_path / "registry"
    root.mkdir()
    with docker_registry(root, basic=basic, https=True) as safe:
        name, login = f"{safe}/ns/m", {safe: LOGIN} if basic else {}
        stranger = placed("stranger", auth=login)
        stranger.commit(name, {"a.safetensors": WEIGHTS})
        with pytest.raises(UpstreamFailed, match=r"certificate: self.signed certificate"):
            await stranger.push(name, insecure=False)
        monkeypatch.setenv("SSL_CERT_FILE", str(root / "server.pem"))
        here, there = placed("here", auth=login), placed("there", auth=login)
        here.commit(name, {"a.safetensors": WEIGHTS})
        await here.push(name, insecure=False)
        await there.pull(name, insecure=False)
        assert there.manifest(name) == here.manifest(name)
