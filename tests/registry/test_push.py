from collections.abc import Iterator

import pytest

from ollama_tts.config import Credentials
from ollama_tts.errors import ModelNotFound, Unauthorized, UpstreamFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.registry.download import Cut
from tests.registry.conftest import Placed, Registered
from tests.support.loopback import Answer, Fault
from tests.support.registry import FakeRegistry, FakeStorage

WEIGHTS = bytes(range(256)) * 1024
DIGEST = Digest.of(WEIGHTS)


async def test_statuses_in_order_and_pulled_back_byte_for_byte(
    registry: FakeRegistry, placed: Placed
) -> None:
    here, there = placed("here"), placed("there")
    name = f"{registry.host}/ns/m:v1"
    manifest = here.commit(name, {"a.safetensors": WEIGHTS})
    lines = await here.push(name)
    words = [line.status for line in lines]
    assert (words[0], words[-2:]) == ("retrieving manifest", ["pushing manifest", "success"])
    sent = [line for line in lines if line.digest == str(DIGEST)]
    assert {line.status for line in sent} == {f"pushing {DIGEST.short}"}
    assert sent[-1].completed == sent[-1].total == len(WEIGHTS)
    assert registry.manifests["ns/m:v1"] == manifest
    await there.pull(name)
    assert there.manifest(name) == manifest
    assert there.store.blobs.path(DIGEST).read_bytes() == WEIGHTS


async def test_what_the_registry_has_is_not_sent_again(
    registry: FakeRegistry, placed: Placed
) -> None:
    here = placed()
    here.commit(f"{registry.host}/ns/m:v1", {"a.safetensors": WEIGHTS})
    await here.push(f"{registry.host}/ns/m:v1")
    here.commit(f"{registry.host}/ns/m:v2", {"a.safetensors": WEIGHTS, "b.json": b"{}"})
    registry.seen.clear()
    await here.push(f"{registry.host}/ns/m:v2")
    assert registry.count("/uploads/", "POST") == 1
    assert set(registry.manifests) == {"ns/m:v1", "ns/m:v2"}


async def test_cut_in_the_middle_it_goes_on_where_the_registry_is(
    registry: FakeRegistry, placed: Placed
) -> None:
    here = placed(cut=Cut(chunk_bytes=64 * 1024))
    name = f"{registry.host}/ns/m:v1"
    here.commit(name, {"a.safetensors": WEIGHTS})
    registry.faults.append(Fault("/uploads/", method="PATCH", cut_at=1000, spared=2))
    await here.push(name)
    assert registry.blobs[str(DIGEST)] == WEIGHTS
    assert len(here.pauses.taken) == 1
    sent = [a.headers["content-range"] for a in registry.seen if a.method == "PATCH"]
    assert sent[:5] == [
        "0-65535", "65536-131071", "131072-196607", "131072-196607", "196608-262143"
    ]  # fmt: skip


async def test_an_upload_that_the_registry_forgot_begins_anew(
    registry: FakeRegistry, placed: Placed
) -> None:
    here = placed()
    name = f"{registry.host}/ns/m:v1"
    here.commit(name, {"a.safetensors": WEIGHTS})
    gone = Answer(404, b'{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}')
    registry.faults += [
        Fault("/uploads/", method="PATCH", answer=gone),
        Fault("/uploads/", method="GET", answer=gone),
    ]
    await here.push(name)
    assert registry.blobs[str(DIGEST)] == WEIGHTS
    assert registry.count("/uploads/", "POST") == 3  # twice for the weights, once for the config


@pytest.mark.parametrize("status", [400, 403, 507])
async def test_a_registry_that_refuses(registry: FakeRegistry, placed: Placed, status: int) -> None:
    here = placed()
    name = f"{registry.host}/ns/m:v1"
    here.commit(name, {"a.safetensors": WEIGHTS})
    registry.faults.append(Fault("/manifests/", "PUT", answer=Answer(status, b'{"why": "so"}')))
    with pytest.raises(UpstreamFailed, match=f'{status}: {{"why": "so"}}'):
        await here.push(name)


async def test_layers_from_another_model_are_mounted(
    registry: FakeRegistry, placed: Placed
) -> None:
    registry.blobs[str(DIGEST)] = WEIGHTS
    name = ModelName.parse(f"{registry.host}/ns/m")
    repository = await placed().registries.repository(name, insecure=True)
    assert await repository.begin_upload(DIGEST, "ns/other") is None
    assert registry.seen[-1].query == f"mount=sha256%3A{DIGEST.hex}&from=ns%2Fother"


async def test_a_model_that_is_not_there(registry: FakeRegistry, placed: Placed) -> None:
    with pytest.raises(ModelNotFound):
        await placed().push(f"{registry.host}/ns/nope")
    assert registry.seen == []


async def test_ollamas_registry_refuses_who_has_no_key(placed: Placed) -> None:
    here = placed()
    here.commit("ns/m", {})
    with pytest.raises(Unauthorized, match=r"unauthorized: access denied: registry.ollama.ai"):
        await here.push("ns/m")


async def test_pushing_needs_the_login_that_pulling_needs(
    registered: Registered, placed: Placed
) -> None:
    registry = registered("login")
    name = f"{registry.host}/ns/m"
    here = placed(auth={registry.host: Credentials("reader", "pass-word")})
    here.commit(name, {"a.safetensors": WEIGHTS})
    await here.push(name)
    there = placed("there")
    there.commit(name, {"a.safetensors": WEIGHTS})
    with pytest.raises(Unauthorized):
        await there.push(name)


@pytest.fixture
def storage() -> Iterator[FakeStorage]:
    with FakeStorage().up() as up:
        yield up


async def test_chunks_go_to_the_storage_that_the_registry_names(
    registered: Registered, storage: FakeStorage, placed: Placed
) -> None:
    registry = registered("login")
    registry.storage = storage
    storage.faults.append(Fault("/u0/65536", "PUT", times=2, answer=Answer(503, b"slow down")))
    name = f"{registry.host}/ns/m:v1"
    login = {registry.host: Credentials("reader", "pass-word")}
    partners = ("*", f"{registry.host}={storage.host}")
    here = placed(auth=login, registries=partners, cut=Cut(chunk_bytes=64 * 1024))
    manifest = here.commit(name, {"a.safetensors": WEIGHTS})
    assert (await here.push(name))[-1].status == "success"
    assert registry.blobs[str(DIGEST)] == WEIGHTS
    assert registry.manifests["ns/m:v1"] == manifest
    assert [len(chunk) for chunk in storage.of("u0")] == [64 * 1024] * 4
    assert len(here.pauses.taken) == 2
    assert all("authorization" not in asked.headers for asked in storage.seen)


async def test_no_chunk_goes_into_a_private_network_that_nobody_named(
    registry: FakeRegistry, storage: FakeStorage, placed: Placed
) -> None:
    registry.storage = storage
    name, here = f"{registry.host}/ns/m:v1", placed()
    here.commit(name, {"a.safetensors": WEIGHTS})
    with pytest.raises(UpstreamFailed, match=r"127.0.0.1 is not at a public address"):
        await here.push(name)
    assert storage.seen == []


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"Location": "file:///etc/hostname"}, "redirects to the scheme 'file'"),
        ({}, "redirects an upload and does not say where to"),
    ],
)
async def test_a_storage_that_is_none(
    registry: FakeRegistry, placed: Placed, headers: dict[str, str], text: str
) -> None:
    name, here = f"{registry.host}/ns/m:v1", placed()
    here.commit(name, {"a.safetensors": WEIGHTS})
    registry.faults.append(Fault("/uploads/", "PATCH", answer=Answer(307, b"", headers)))
    with pytest.raises(UpstreamFailed, match=text):
        await here.push(name)
    assert registry.manifests == {}
