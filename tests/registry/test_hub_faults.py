"""Every way in which a hub can fail: each ends in the model, or in a clear error and no model."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from ollama_tts.errors import OllamaTTSError
from ollama_tts.names import Digest, ModelName
from ollama_tts.registry.download import Cut
from tests.registry.conftest import Placed
from tests.support.checkpoints import TINY, write
from tests.support.hub import FakeHub, Held
from tests.support.loopback import Answer, Fault
from tests.support.pulls import Place

NAME = "hf.co/owner/repo"
WEIGHTS, SMALL = "asset/Decoder.safetensors", "asset/gpt/config.json"
CUT = Cut(part_bytes=256 * 1024, parallel=3, block_bytes=64 * 1024)
Faults = Callable[[], list[Fault]]
Files = Mapping[str, bytes]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    root = write(tmp_path_factory.mktemp("hub"), TINY)
    found = (path for path in root.rglob("*") if path.suffix in {".safetensors", ".json"})
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def hub(files: Files) -> Iterator[FakeHub]:
    with FakeHub().up() as up:
        up.held["owner/repo"] = Held(files)
        yield up


def held_by(here: Place) -> Files:
    files = here.store.get(ModelName.parse(NAME)).files
    return {path: file.read_bytes() for path, file in files.items()}


def nothing_is_visible(here: Place) -> bool:
    """No model, and no blob that is not whole."""
    stored = [digest for digest, _ in here.store.blobs.stored()]
    whole = all(Digest.of(here.store.blobs.path(one).read_bytes()) == one for one in stored)
    return whole and here.names() == set()


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(lambda: [Fault(WEIGHTS, times=8, cut_at=1_000)], id="cuts"),
        pytest.param(lambda: [Fault(WEIGHTS, times=5, cut_at=0)], id="empty and broken off"),
        pytest.param(lambda: [Fault(SMALL, times=3, cut_at=3)], id="small file truncated"),
        pytest.param(lambda: [Fault("/api/models/", times=3, cut_at=20)], id="listing truncated"),
        pytest.param(lambda: [Fault(WEIGHTS, times=2, stall_at=2_000)], id="stalls"),
        pytest.param(lambda: [Fault(WEIGHTS, times=2, drip_s=0.02, cut_at=400)], id="drips"),
        pytest.param(
            lambda: [
                Fault(part, times=2, answer=Answer(status, b"later", {"Retry-After": "3"}))
                for part, status in (("/api/models/", 429), (WEIGHTS, 503), (SMALL, 429))
            ],
            id="429 and 503",
        ),
        pytest.param(
            lambda: [Fault(WEIGHTS, answer=Answer(status)) for status in (408, 500, 502)],
            id="408, 500, 502",
        ),
    ],
)
async def test_what_passes(hub: FakeHub, files: Files, placed: Placed, faults: Faults) -> None:
    hub.faults += (fault for fault in faults())
    waiting = list(hub.faults)
    here = placed(hub=hub.url, cut=CUT, stall_s=0.5, window_s=0.25)
    assert (await here.pull(NAME))[-1].status == "success"
    assert held_by(here) == files
    assert not any(fault.times for fault in waiting)
    assert here.pauses.taken
    assert here.partials() == []


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault(WEIGHTS, times=99, answer=Answer(200, b"")), "has 0 bytes there, not "),
        (Fault(WEIGHTS, times=99, answer=Answer(200, b"short")), "has 5 bytes there, not "),
        (Fault(WEIGHTS, times=99, cut_at=0), "connection broke"),
        (Fault(WEIGHTS, times=99, answer=Answer(404, b"Entry not found")), "404: Entry not found"),
        (Fault(WEIGHTS, times=99, answer=Answer(403, b"expired")), "403: expired"),
        (Fault(WEIGHTS, times=99, answer=Answer(429, b"", {"Retry-After": "9"})), "429: Too Many"),
        (Fault(WEIGHTS, times=99, answer=Answer(206, b"x" * 9)), "sends a part and does not say"),
        (Fault(WEIGHTS, answer=Answer(200, b"x", {"Content-Encoding": "br"})), "compresses"),
        (Fault(SMALL, answer=Answer(200, b"")), f"sends 0 bytes of {SMALL}, not "),
        (Fault(SMALL, answer=Answer(200, b"<html>")), f"sends 6 bytes of {SMALL}, not "),
        (Fault(SMALL, times=99, answer=Answer(503, b"down")), "503: down"),
        (Fault("/api/models/", answer=Answer(200, b"")), "no list of files"),
        (Fault("/api/models/", times=99, answer=Answer(503, b"down")), "503: down"),
        (Fault("/api/models/", times=99, stall_at=9), "the connection stalled"),
    ],
)
async def test_what_does_not_pass(
    hub: FakeHub, files: Files, placed: Placed, fault: Fault, text: str
) -> None:
    hub.faults.append(Fault(fault.part, times=fault.times, answer=fault.answer,
                            cut_at=fault.cut_at, stall_at=fault.stall_at))  # fmt: skip
    here = placed(hub=hub.url, cut=CUT, stall_s=0.5)
    with pytest.raises(OllamaTTSError, match=text):
        await here.pull(NAME)
    assert nothing_is_visible(here)
    hub.faults.clear()
    await here.pull(NAME)
    assert held_by(here) == files


@pytest.mark.parametrize(
    ("path", "lie", "text"),
    [
        (WEIGHTS, {"lfs": {"sha256": "ab" * 32}}, "digest mismatch, file must be downloaded again"),
        (WEIGHTS, {"lfs": {"sha256": "ab" * 32, "size": 1000}}, "bytes there, not 1000"),
        (WEIGHTS, {"lfs": {"sha256": "no hash", "size": 1000}}, "lists a file that cannot be"),
        (WEIGHTS, {"lfs": {"sha256": "ab" * 32, "size": 1 << 62}}, "the limit is"),
        (WEIGHTS, {"lfs": "?"}, "no list of files"),
        (SMALL, {"size": 7}, f"bytes of {SMALL}, not 7"),
        (SMALL, {"blobId": "ab" * 20}, f"other bytes of {SMALL} than it lists"),
        (SMALL, {"rfilename": "asset/gpt/../../../etc/x.json"}, "lists a file that cannot be"),
    ],
)
async def test_listings_that_lie(
    hub: FakeHub, files: Files, placed: Placed, path: str, lie: dict[str, object], text: str
) -> None:
    hub.held["owner/repo"] = Held(files, lies={path: lie})
    here = placed(hub=hub.url, cut=CUT)
    with pytest.raises(OllamaTTSError, match=text):
        await here.pull(NAME)
    assert nothing_is_visible(here)
    hub.held["owner/repo"] = Held(files)
    await here.pull(NAME)
    assert held_by(here) == files


async def test_faults_of_the_host_that_it_redirects_to(
    hub: FakeHub, files: Files, placed: Placed
) -> None:
    with FakeHub().up() as cdn:
        cdn.held["owner/repo"] = Held(files)
        cdn.faults += [
            Fault(WEIGHTS, times=3, cut_at=2_000),
            Fault(WEIGHTS, times=2, answer=Answer(503, b"busy")),
            Fault(SMALL, cut_at=1),
        ]
        waiting = list(cdn.faults)
        hub.elsewhere = cdn.url
        partners = ("*", f"{hub.host}={cdn.host}")
        here = placed(hub=hub.url, cut=CUT, token=hub.token, registries=partners)
        await here.pull(NAME)
        assert held_by(here) == files
        assert not any(fault.times for fault in waiting)
        assert all("authorization" not in asked.headers for asked in cdn.seen)
        assert all("signature=s" in asked.query for asked in cdn.seen)
