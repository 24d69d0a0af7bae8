import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ollama_tts.errors import Failed, ModelNotFound, UpstreamFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.registry import catalogue
from ollama_tts.registry.catalogue import CHATTTS, CHATTTS_FILES, entry_of
from ollama_tts.registry.download import Cut
from tests.registry.conftest import Placed
from tests.support.hub import COMMIT, FakeHub, Held
from tests.support.loopback import Answer, Fault
from tests.support.services import mini_files

MINI = mini_files()
CUT = Cut(part_bytes=2 * 1024**2, parallel=3, block_bytes=256 * 1024)
EXTRA = {"README.md": b"# hi", "asset/spk_stat.pt": b"\x80\x02pickle", "config/path.yaml": b"a: 1"}
LAYOUT = {
    path: data
    for path, data in MINI.items()
    if path.startswith("asset/") or path in {"config.json", "speakers.json"}
}
OFFICIAL = {path: data for path, data in MINI.items() if path in CHATTTS_FILES}


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub().up() as up:
        yield up


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue pins the small checkpoint instead of the real one."""
    hashes = {catalogue._key(path): Digest.of(data).hex for path, data in OFFICIAL.items()}
    monkeypatch.setattr(catalogue, "_listed", lambda: hashes)


def test_the_catalogue_reads_the_hashes_of_the_installed_package() -> None:
    files = CHATTTS.files()
    assert list(files) == list(CHATTTS_FILES)
    assert len(set(files.values())) == 9


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("chattts", True), ("ChatTTS:int8", True), ("registry.ollama.ai/library/chattts", True),
        ("ns/chattts", False), ("host.test/library/chattts", False), ("chattts2", False),
    ],
)  # fmt: skip
def test_which_names_mean_the_catalogue(name: str, there: bool) -> None:
    assert (entry_of(ModelName.parse(name)) is not None) == there


def test_a_package_that_lists_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_listed", dict)
    with pytest.raises(Failed, match="lists no hash 'sha256_asset_Decoder_safetensors' any more"):
        CHATTTS.files()


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("told", [True, False])
async def test_chattts_from_the_pinned_revision(hub: FakeHub, placed: Placed, told: bool) -> None:
    hub.held["2Noise/ChatTTS"] = Held({**MINI, **EXTRA}, ("main", CHATTTS.revision), told)
    hub.held["2Noise/ChatTTS"].revisions += (COMMIT,)
    here = placed(hub=hub.url, cut=CUT)
    lines = await here.pull("chattts:int8")
    words = [line.status for line in lines]
    assert words[0] == "pulling manifest"
    assert words[-3:] == ["verifying sha256 digest", "writing manifest", "success"]
    assert {line.digest for line in lines if line.digest} == {
        str(Digest.of(data)) for data in OFFICIAL.values()
    }
    model = here.store.get(ModelName.parse("chattts:int8"))
    assert model.config.model_format == "chattts"
    assert model.parameters == {"quantization": "int8"}
    assert {name: path.read_bytes() for name, path in model.files.items()} == OFFICIAL
    assert hub.seen[0].path.endswith(f"/revision/{CHATTTS.revision}")
    assert here.partials() == []


@pytest.mark.usefixtures("pinned")
async def test_a_mirror_with_another_history_will_do(hub: FakeHub, placed: Placed) -> None:
    hub.held["2Noise/ChatTTS"] = Held(MINI)
    here = placed(hub=hub.url, cut=CUT)
    await here.pull("chattts")
    assert here.names() == {"chattts:latest"}


@pytest.mark.usefixtures("pinned")
async def test_other_bytes_are_not_chattts(hub: FakeHub, placed: Placed) -> None:
    changed = {**MINI, "asset/Vocos.safetensors": MINI["asset/Vocos.safetensors"][:-1] + b"X"}
    hub.held["2Noise/ChatTTS"] = Held(changed)
    here = placed(hub=hub.url, cut=CUT)
    with pytest.raises(Failed, match="must be downloaded again"):
        await here.pull("chattts")
    assert here.names() == set()


async def test_any_repository_of_this_layout(hub: FakeHub, placed: Placed) -> None:
    hub.held["owner/repo"] = Held({**MINI, **EXTRA})
    here = placed(hub=hub.url, cut=CUT)
    await here.pull("hf.co/owner/repo")
    model = here.store.get(ModelName.parse("hf.co/owner/repo"))
    assert set(model.files) == set(LAYOUT)
    assert model.config.model_format == "chattts"
    asked = len(hub.seen)
    assert (await here.pull("hf.co/owner/repo"))[-1].status == "success"
    small = [path for path in LAYOUT if path.endswith(".json")]
    assert len(hub.seen) == asked + 1 + len(small)  # weights are not fetched again


@pytest.mark.parametrize(
    ("tag", "revision"), [("latest", "main"), ("q8_0", "main"), ("v2", "v2"), (COMMIT, COMMIT)]
)
async def test_tags_are_precisions_or_revisions(
    hub: FakeHub, placed: Placed, tag: str, revision: str
) -> None:
    hub.held["owner/repo"] = Held(MINI, ("main", "v2", COMMIT))
    await placed(hub=hub.url, cut=CUT).pull(f"huggingface.co/owner/repo:{tag}")
    assert hub.seen[0].path == f"/api/models/owner/repo/revision/{revision}"
    assert all(f"/resolve/{COMMIT}/" in asked.path for asked in hub.seen[1:])


async def test_the_token_opens_and_stays_at_the_hub(hub: FakeHub, placed: Placed) -> None:
    with FakeHub().up() as cdn:
        hub.held["owner/repo"] = Held(MINI, closed=True)
        cdn.held["owner/repo"] = Held(MINI)
        hub.elsewhere = cdn.url
        with pytest.raises(ModelNotFound, match=r"^pull model manifest: .*HF_TOKEN"):
            await placed(hub=hub.url, cut=CUT).pull("hf.co/owner/repo")
        with pytest.raises(UpstreamFailed, match="not at a public address"):
            await placed(hub=hub.url, cut=CUT, token=hub.token).pull("hf.co/owner/repo")
        assert cdn.seen == []
        here = placed(
            "there",
            hub=hub.url,
            cut=CUT,
            token=hub.token,
            registries=("*", f"{hub.host}={cdn.host}"),
        )
        await here.pull("hf.co/owner/repo")
        assert len(cdn.seen) >= len(LAYOUT)
        assert all("authorization" not in asked.headers for asked in cdn.seen)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/resolve/", times=5, cut_at=5000),
        Fault("/resolve/", times=2, stall_at=5000),
        Fault("/api/models/", answer=Answer(429, b"", {"Retry-After": "3"})),
        Fault("/resolve/", times=5, answer=Answer(503, b"busy")),
    ],
)
async def test_faults_that_pass(hub: FakeHub, placed: Placed, fault: Fault) -> None:
    hub.held["owner/repo"] = Held(MINI)
    fault = Fault(fault.part, times=fault.times, answer=fault.answer,
                  cut_at=fault.cut_at, stall_at=fault.stall_at)  # fmt: skip
    hub.faults.append(fault)
    here = placed(hub=hub.url, cut=CUT, stall_s=20.0 if fault.stall_at is None else 0.5)
    await here.pull("hf.co/owner/repo")
    assert fault.times == 0
    assert here.pauses.taken
    model = here.store.get(ModelName.parse("hf.co/owner/repo"))
    assert {name: path.read_bytes() for name, path in model.files.items()} == LAYOUT


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer(200, b"<html>"), "no list of files"),
        (Answer(200, b'{"sha":"main","siblings":[]}'), "names the commit 'main'"),
        (Answer(200, json.dumps({"sha": COMMIT, "siblings": [{"rfilename": "../x"}]}).encode()),
         "lists a file that cannot be: file path must be relative"),
        (Answer(200, json.dumps({"sha": COMMIT, "siblings": [{"rfilename": "/x"}]}).encode()),
         "lists a file that cannot be"),
        (Answer(200, json.dumps({"sha": COMMIT, "siblings": []}).encode()), "neither ChatTTS's"),
        (Answer(200, json.dumps({"sha": COMMIT, "siblings": [
            {"rfilename": "a.gguf", "size": -1}]}).encode()), "a file of -1 bytes"),
        (Answer(418, b"teapot"), "418: teapot"),
    ],
)  # fmt: skip
async def test_listings_that_cannot_be(
    hub: FakeHub, placed: Placed, answer: Answer, text: str
) -> None:
    hub.faults.append(Fault("/api/models/", answer=answer))
    with pytest.raises(UpstreamFailed, match=f"^pull model manifest: .*{text}"):
        await placed(hub=hub.url, cut=CUT).pull("hf.co/owner/repo")


async def test_several_gguf_files_need_a_tag(hub: FakeHub, placed: Placed) -> None:
    hub.held["owner/repo"] = Held({"m-f16.gguf": b"GGUF", "m-q8_0.gguf": b"GGUF"})
    text = r"several .gguf files, and the tag 'latest' names none .*: m-f16.gguf, m-q8_0.gguf"
    with pytest.raises(ModelNotFound, match=text):
        await placed(hub=hub.url, cut=CUT).pull("hf.co/owner/repo")


@pytest.mark.parametrize("endpoint", ["", "hub.test", "ftp://hub.test", "http://[::1"])
async def test_an_endpoint_that_is_none(placed: Placed, endpoint: str) -> None:
    with pytest.raises(Exception, match="HF_ENDPOINT"):
        await placed(hub=endpoint).pull("hf.co/owner/repo")


async def test_a_pickle_in_the_layout_is_refused(hub: FakeHub, placed: Placed) -> None:
    hub.held["owner/repo"] = Held({**MINI, "asset/Vocos.safetensors": b"\x80\x04pickle"})
    here = placed(hub=hub.url, cut=CUT)
    with pytest.raises(Exception, match=r"asset/Vocos.safetensors is a pickle"):
        await here.pull("hf.co/owner/repo")
    assert here.names() == set()


def test_no_module_of_chattts_is_imported_for_the_hashes() -> None:
    code = (
        "import sys; from ollama_tts.registry.catalogue import CHATTTS; CHATTTS.files(); "
        "sys.exit('ChatTTS' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
