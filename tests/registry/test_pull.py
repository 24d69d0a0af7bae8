import asyncio
import json
from contextlib import aclosing

import httpx
import pytest

from ollama_tts.errors import Failed, ModelNotFound, UpstreamFailed
from ollama_tts.names import Digest
from ollama_tts.protocol.ollama import PullRequest
from ollama_tts.registry.download import Cut
from ollama_tts.registry.ranges import body_of
from tests.registry.conftest import Placed
from tests.support.loopback import Answer, Fault
from tests.support.pulls import BLOCK_BYTES, PART_BYTES
from tests.support.registry import FakeRegistry
from tests.support.stores import blob_names

CONFIG = b'{"model_format":"tone"}'
WEIGHTS = bytes(range(256)) * 1024 + b"the end"  # 256 KiB and a bit: five parts
DIGEST = Digest.of(WEIGHTS)
BLOB = f"/blobs/{DIGEST}"


@pytest.fixture
def name(registry: FakeRegistry) -> str:
    registry.put("ns/m", "v1", {"a.safetensors": WEIGHTS}, CONFIG)
    return f"{registry.host}/ns/m:v1"


async def test_statuses_in_order_and_the_manifest_byte_for_byte(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    here = placed()
    lines = await here.pull(name)
    words = [line.status for line in lines]
    assert words[0] == "pulling manifest"
    assert words[-3:] == ["verifying sha256 digest", "writing manifest", "success"]
    assert list(dict.fromkeys(words[1:-3])) == [
        f"pulling {DIGEST.short}",
        f"pulling {Digest.of(CONFIG).short}",
    ]
    of_weights = [line for line in lines if line.digest == str(DIGEST)]
    assert [line.completed for line in of_weights] == sorted(line.completed for line in of_weights)
    assert of_weights[-1].completed == of_weights[-1].total == len(WEIGHTS)
    assert here.manifest(name) == registry.manifests["ns/m:v1"]
    assert here.store.blobs.path(DIGEST).read_bytes() == WEIGHTS
    assert here.partials() == []


async def test_a_second_pull_fetches_no_blob(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    here = placed()
    await here.pull(name)
    asked = registry.count("/blobs/")
    lines = await here.pull(name)
    assert registry.count("/blobs/") == asked
    assert [(line.total, line.completed) for line in lines if line.digest] == [
        (len(WEIGHTS), len(WEIGHTS)),
        (len(CONFIG), len(CONFIG)),
    ]


async def test_a_tag_that_moved_frees_what_only_the_old_model_used(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    here = placed()
    await here.pull(name)
    registry.put("ns/m", "v1", {"a.safetensors": b"new"}, CONFIG)
    lines = await here.pull(name)
    assert [line.status for line in lines][-3:] == [
        "writing manifest",
        "removing unused layers",
        "success",
    ]
    assert blob_names(here.blobs_dir.parent) == {
        Digest.of(b"new").filename,
        Digest.of(CONFIG).filename,
    }


async def test_parts_are_fetched_by_range(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    await placed().pull(name)
    starts = {a.headers["range"] for a in registry.seen if BLOB in a.path}
    assert starts == {
        f"bytes={at}-{min(at + PART_BYTES, len(WEIGHTS)) - 1}"
        for at in range(0, len(WEIGHTS), PART_BYTES)
    }


async def test_connections_are_used_again(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    await placed(cut=Cut(PART_BYTES, 1, BLOCK_BYTES)).pull(name)
    assert len({asked.client for asked in registry.seen}) == 1


async def test_a_server_without_ranges_and_without_location_will_do(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    registry.ranges = False
    registry.faults.append(Fault(BLOB, times=6, cut_at=100_000))
    here = placed()
    await here.pull(name)
    assert here.store.blobs.path(DIGEST).read_bytes() == WEIGHTS


async def test_cut_again_and_again_it_goes_on_where_it_was(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    registry.faults.append(Fault(BLOB, times=9, cut_at=20_000))
    here = placed()
    await here.pull(name)
    assert here.store.blobs.path(DIGEST).read_bytes() == WEIGHTS
    assert registry.sent[f"/v2/ns/m{BLOB}"] <= len(WEIGHTS) + PART_BYTES
    assert len(here.pauses.taken) == 9
    assert all(0.5 <= pause <= 1 for pause in here.pauses.taken)  # each brought something


async def test_stalls_are_noticed(registry: FakeRegistry, name: str, placed: Placed) -> None:
    registry.faults.append(Fault(BLOB, times=2, stall_at=20_000))
    here = placed(stall_s=0.3)
    await here.pull(name)
    assert registry.stalled == 2
    assert len(here.pauses.taken) >= 2
    assert here.store.blobs.path(DIGEST).read_bytes() == WEIGHTS


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_given_the_time_it_asks_for(
    registry: FakeRegistry, name: str, placed: Placed, status: int
) -> None:
    busy = Answer(status, b"slow down", {"Retry-After": "7"})
    registry.faults += [Fault("/manifests/", answer=busy), Fault(BLOB, times=3, answer=busy)]
    here = placed()
    await here.pull(name)
    assert here.pauses.taken == [7.0] * 4
    assert name in here.names()


async def test_pauses_double_and_end(registry: FakeRegistry, name: str, placed: Placed) -> None:
    registry.faults.append(Fault(BLOB, times=1000, answer=Answer(500, b"out of order")))
    here = placed(cut=Cut(parallel=1))
    with pytest.raises(UpstreamFailed, match=r"500: out of order \(127.0.0.1\)"):
        await here.pull(name)
    assert len(here.pauses.taken) == 5
    assert all(2.0**n / 2 <= pause <= 2.0**n for n, pause in enumerate(here.pauses.taken, 1))
    assert here.names() == set()


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (Answer(200, WEIGHTS[:-1] + b"X", ranged=True), Failed, "must be downloaded again: want"),
        (Answer(200, WEIGHTS + b"X", ranged=True), UpstreamFailed, "bytes there, not"),
        (Answer(200, WEIGHTS[:-1], ranged=True), UpstreamFailed, "bytes there, not"),
        (Answer(200, b"", ranged=True), UpstreamFailed, "416: "),
        (Answer(206, WEIGHTS), UpstreamFailed, "does not say which"),
        (Answer(200, b"x", {"Content-Encoding": "gzip"}), UpstreamFailed, "127.0.0.1 compresses"),
        (Answer(404, b"gone"), UpstreamFailed, "404: gone"),
        (Answer(204), UpstreamFailed, "answers 204"),
    ],
)
async def test_other_bytes_never_become_a_model(
    registry: FakeRegistry,
    name: str,
    placed: Placed,
    answer: Answer,
    error: type[Exception],
    text: str,
) -> None:
    here = placed()
    fault = Fault(BLOB, times=1000, answer=answer)
    registry.faults.append(fault)
    with pytest.raises(error, match=text):
        await here.pull(name)
    assert here.names() == set()
    assert not here.store.blobs.has(DIGEST)
    registry.faults.clear()
    await here.pull(name)
    assert here.store.blobs.path(DIGEST).read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("headers", "start", "total"),
    [
        ({"Content-Length": "12"}, 0, 12),
        ({"Content-Length": "9" * 5000}, 0, None),
        ({"Content-Length": "x"}, 0, None),
        ({"Content-Range": "bytes 3-5/*"}, 3, None),
        ({"Content-Range": "bytes 3-5/9"}, 3, 9),
    ],
)
def test_what_an_answer_says_of_itself(
    headers: dict[str, str], start: int, total: int | None
) -> None:
    status = 206 if "Content-Range" in headers else 200
    asked = httpx.Request("GET", "https://registry.test/x")
    body = body_of(httpx.Response(status, headers=headers, request=asked))
    assert (body.start, body.total) == (start, total)


async def test_an_unknown_model_is_named_with_its_host(
    registry: FakeRegistry, placed: Placed
) -> None:
    text = f"^pull model manifest: file does not exist: {registry.host} has no ns/nope:latest$"
    with pytest.raises(ModelNotFound, match=text):
        await placed().pull(f"{registry.host}/ns/nope")


async def test_a_page_is_no_manifest(registry: FakeRegistry, name: str, placed: Placed) -> None:
    page = Answer(200, b"<html>Sign in</html>", {"Content-Type": "text/html"})
    registry.faults.append(Fault("/manifests/", answer=page))
    text = f"^pull model manifest: {registry.host} sent text/html, not a manifest"
    with pytest.raises(UpstreamFailed, match=text):
        await placed().pull(name)


async def test_a_manifest_is_read_up_to_its_limit(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    huge = Answer(200, b" " * (16 * 1024**2), {"Content-Length": str(2 * 1024**3)})
    registry.faults.append(Fault("/manifests/", answer=huge))
    with pytest.raises(UpstreamFailed, match="larger than 4194304 bytes"):
        await placed().pull(name)


@pytest.mark.parametrize(
    "change",
    [
        {"schemaVersion": 1},
        {"layers": [{"mediaType": "x", "digest": "sha256:../../x", "size": 1}]},
        {"layers": [{"mediaType": "x", "digest": str(DIGEST), "size": -1}]},
        {"layers": [{"mediaType": "x", "digest": str(DIGEST), "size": 1 << 60}]},
        {"config": None},
    ],
)
async def test_hostile_manifests(
    registry: FakeRegistry, name: str, placed: Placed, change: dict[str, object]
) -> None:
    raw = json.loads(registry.manifests["ns/m:v1"])
    registry.manifests["ns/m:v1"] = json.dumps({**raw, **change}).encode()
    with pytest.raises(UpstreamFailed, match=r"^pull model manifest: .*not a manifest: "):
        await placed().pull(name)


async def test_a_config_that_cannot_be_read_is_never_written(
    registry: FakeRegistry, placed: Placed
) -> None:
    registry.put("ns/m", "v1", {}, b"no json")
    here = placed()
    with pytest.raises(UpstreamFailed, match="cannot be used: config is damaged"):
        await here.pull(f"{registry.host}/ns/m:v1")
    assert here.names() == set()


async def test_a_pickle_is_refused(registry: FakeRegistry, placed: Placed) -> None:
    registry.put("ns/m", "v1", {"model.bin": b"\x80\x04pickled"}, CONFIG)
    here = placed()
    with pytest.raises(Exception, match=r"model.bin is a pickle"):
        await here.pull(f"{registry.host}/ns/m:v1")
    assert here.names() == set()


async def test_two_pullers_of_one_digest_share_the_download(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    registry.put("ns/other", "v1", {"a.safetensors": WEIGHTS}, CONFIG)
    here = placed()
    await asyncio.gather(here.pull(name), here.pull(f"{registry.host}/ns/other:v1"))
    sent = sum(count for path, count in registry.sent.items() if path.endswith(BLOB))
    assert sent == len(WEIGHTS)
    assert len(here.names()) == 2


async def test_two_processes_share_it_too(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    one, two = placed(), placed()
    await asyncio.gather(one.pull(name), two.pull(name))
    sent = sum(count for path, count in registry.sent.items() if path.endswith(BLOB))
    assert sent == len(WEIGHTS)
    assert two.partials() == []


async def test_the_last_who_leaves_ends_the_download_and_parts_stay(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    stall = Fault(BLOB, times=1000, stall_at=0, from_byte=2 * PART_BYTES)
    registry.faults.append(stall)
    here = placed(cut=Cut(PART_BYTES, 2, BLOCK_BYTES))
    one, two = (asyncio.create_task(here.pull(name)) for _ in range(2))
    await asyncio.to_thread(registry.until_stalled, 2)
    one.cancel()
    await asyncio.wait([one])
    assert not two.done()
    two.cancel()
    await asyncio.wait([two])
    assert here.partials() == [f"{DIGEST.filename}-partial", f"{DIGEST.filename}-partial.json"]
    registry.release()
    registry.sent.clear()
    await here.pull(name)
    assert registry.sent[f"/v2/ns/m{BLOB}"] == len(WEIGHTS) - 2 * PART_BYTES
    assert here.store.blobs.path(DIGEST).read_bytes() == WEIGHTS


async def test_a_caller_who_leaves_early_leaves_the_others_their_download(
    registry: FakeRegistry, name: str, placed: Placed
) -> None:
    here = placed(stall_s=0.5)
    registry.faults.append(Fault(BLOB, times=1, stall_at=0))
    async with aclosing(here.models.pull(PullRequest(model=name, insecure=True))) as lines:
        await anext(lines)
        await anext(lines)
        other = asyncio.create_task(here.pull(name))
        await asyncio.to_thread(registry.until_stalled, 1)
    assert (await other)[-1].status == "success"
