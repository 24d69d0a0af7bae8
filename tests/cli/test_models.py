"""The commands that keep models, as processes against a live server; explain and version."""

import json
import re
import shutil
from pathlib import Path

import httpx
import pytest

from ollama_tts.errors import InvalidModelfile
from tests.cli.conftest import ROOT, Cli
from tests.support.live import LiveServer

MODELFILE = 'FROM tone\nPARAMETER speed 1.25\nPARAMETER voice "tone"\nSET seed 7\nSYSTEM be calm\n'


@pytest.fixture
def reader(online: Cli, tmp_path: Path) -> str:
    """A model of the test's own."""
    (tmp_path / "Modelfile").write_text(MODELFILE)
    assert online("create", "reader", "-f", str(tmp_path / "Modelfile")).status == 0
    return "reader"


def rows(text: str) -> list[list[str]]:
    return [re.split(r" {4,}|\s{2,}", line) for line in text.splitlines()]


def test_list_has_ollama_s_columns(online: Cli, live: LiveServer) -> None:
    done = online("list")
    head, *found = rows(done.text)
    assert head == ["NAME", "ID", "SIZE", "MODIFIED"]
    tags = httpx.get(f"{live.url}/api/tags").json()["models"]
    assert [row[:2] for row in found] == [[m["name"], m["digest"][:12]] for m in tags]
    assert all(re.fullmatch(r".+ ago", row[3]) for row in found)
    assert online("ls").text.splitlines()[0] == done.text.splitlines()[0]


def test_list_takes_the_beginning_of_names(online: Cli) -> None:
    assert [row[0] for row in rows(online("list", "HIB").text)] == ["NAME", "hibari:latest"]


def test_show_has_ollama_s_sections(online: Cli, reader: str) -> None:
    text = online("show", reader).text
    titles = [line.strip() for line in text.splitlines() if re.match(r"  \S", line)]
    assert titles == ["Model", "Capabilities", "Parameters", "System", "License"]
    assert re.search(r"^    architecture +tone$", text, re.MULTILINE)
    assert re.search(r"^    completion$", text, re.MULTILINE)
    assert re.search(r"^    speech$", text, re.MULTILINE)
    assert re.search(r"^    speed +1\.25$", text, re.MULTILINE)
    assert re.search(r"^    be calm$", text, re.MULTILINE)
    assert "general." not in text
    assert "general.version" in online("show", reader, "-v").text


def test_show_prints_single_parts(online: Cli, reader: str) -> None:
    assert online("show", reader, "--system").text == "be calm\n"
    assert re.search(r"^seed +7$", online("show", reader, "--parameters").text, re.MULTILINE)
    assert "Apache" in online("show", reader, "--license").text


def test_show_modelfile_makes_the_same_model(online: Cli, reader: str, tmp_path: Path) -> None:
    text = online("show", reader, "--modelfile").text
    again = tmp_path / "again"
    again.write_text(text)
    assert online("create", "copied", "-f", str(again)).status == 0
    first, second = (
        [line for line in online("show", name, "--modelfile").text.splitlines()
         if not line.startswith(("FROM", "#"))]
        for name in (reader, "copied")
    )  # fmt: skip
    assert first == second


def test_parameters_of_a_modelfile_are_heard(online: Cli, reader: str, tmp_path: Path) -> None:
    plain, fast = tmp_path / "plain.wav", tmp_path / "fast.wav"
    assert online("run", "tone", "Some words.", "-o", str(plain)).status == 0
    assert online("run", reader, "Some words.", "-o", str(fast)).status == 0
    assert fast.stat().st_size == pytest.approx(plain.stat().st_size / 1.25, rel=0.05)


def test_create_reads_what_windows_writes(online: Cli, tmp_path: Path) -> None:
    path = tmp_path / "Modelfile"
    path.write_bytes(MODELFILE.replace("\n", "\r\n").encode("utf-16"))
    assert online("create", "fromwindows", "-f", str(path), "-q", "int8").status == 0
    assert "be calm" in online("show", "fromwindows").text


def test_create_uploads_files_once(online: Cli, live: LiveServer, tmp_path: Path) -> None:
    weights = tmp_path / "parts" / "a.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}" + bytes(3_000_000))
    (tmp_path / "Modelfile").write_text("FROM ./parts\n")
    first = online("create", "broken", "-f", str(tmp_path / "Modelfile"))
    assert "copying a.safetensors\n" in first.error
    second = online("create", "broken", "-f", str(tmp_path / "Modelfile"))
    assert "copying" not in second.error  # whatever becomes of it, the blob is there
    assert (first.status, second.status) == (1, 1)
    assert first.error.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("PARAMETER seed 7\n", "Error: no FROM line"),
        ("FROM tone\nSPEED 2\n", "(line 2): command must be one of"),
        ("FROM tone\nPARAMETER sped 2\n", "(line 2): unknown parameter 'sped'"),
        ("FROM ./nowhere\n", "Error: FROM ./nowhere: no such file or folder"),
        ("FROM tone\nADAPTER ./nowhere\n", "(line 2): stat ./nowhere: no such file"),
    ],
)
def test_a_modelfile_that_is_wrong(online: Cli, tmp_path: Path, text: str, because: str) -> None:
    (tmp_path / "Modelfile").write_text(text)
    done = online("create", "x", "-f", str(tmp_path / "Modelfile"))
    assert done.status == 1
    assert because in done.error
    assert done.error.count("\n") == 1


def test_a_modelfile_that_is_not_there(online: Cli, tmp_path: Path) -> None:
    done = online("create", "x", "-f", str(tmp_path / "Modelfile"))
    assert done.status == 1
    assert f"cannot read the Modelfile {tmp_path}" in done.error


def test_explained_errors_keep_the_true_line() -> None:
    error = InvalidModelfile("(line 4): no", 2, "try yes")
    assert error.explained == "(line 2): no; try yes"


MODELFILES = ROOT / "modelfiles"
CHATTTS = sorted(path.stem for path in MODELFILES.glob("chattts*"))
OTHERS = sorted({path.stem for path in MODELFILES.iterdir()} - set(CHATTTS))


@pytest.mark.parametrize("name", OTHERS)
def test_modelfiles_on_package_voices_run_as_they_stand(
    online: Cli, tmp_path: Path, name: str
) -> None:
    assert online("create", name, "-f", str(MODELFILES / f"{name}.Modelfile")).status == 0
    sound = tmp_path / "sound"
    assert online("run", name, "Ready", "-o", str(sound)).status == 0
    assert sound.stat().st_size > 1000


@pytest.fixture(scope="session")
def checkpoint(online: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """modelfiles/ with a small ChatTTS checkpoint beside them, and `chattts` made of it."""
    folder = tmp_path_factory.mktemp("modelfiles")
    for path in MODELFILES.iterdir():
        shutil.copy(path, folder)
    (folder / "ChatTTS").symlink_to(ROOT / "tests" / "data" / "chattts-mini")
    done = online("create", "chattts", "-f", str(folder / "chattts.Modelfile"))
    assert done.status == 0, done.error
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", CHATTTS)
def test_modelfiles_on_chattts_run_with_a_checkpoint(
    online: Cli, checkpoint: Path, tmp_path: Path, name: str
) -> None:
    done = online("create", name, "-f", str(checkpoint / f"{name}.Modelfile"))
    assert done.status == 0, done.error
    sound = tmp_path / "a.wav"
    done = online("run", name, "the first sentence", "-o", str(sound))
    assert done.status == 0, done.error
    assert sound.stat().st_size > 24_000


@pytest.mark.slow
def test_bench_measures_a_baseline_in_turns(online: Cli, checkpoint: Path) -> None:
    text = "the first sentence"
    done = online(
        "bench", "chattts", "--baseline", "reference", "--requests", "1", "--text", text, "--json"
    )
    assert done.status == 0, done.error
    (run,) = json.loads(done.out)["runs"]
    assert run["baseline"]["requests"] == run["model"]["requests"] == 1
    assert set(run["ratios"]) == {"first_audio", "audio_s_per_s", "steps_per_s"}


def test_cp_and_rm(online: Cli, reader: str) -> None:
    done = online("cp", reader, "second")
    assert (done.status, done.text) == (0, "copied 'reader' to 'second'\n")
    done = online("rm", "second", "READER:latest")
    assert (done.status, done.text) == (0, "deleted 'second'\ndeleted 'READER:latest'\n")
    done = online("rm", reader)
    assert (done.status, done.error) == (1, "Error: model 'reader' not found\n")
    assert online("cp", reader, "third").error == 'Error: model "reader" not found\n'


def test_ps_and_stop(online: Cli, live: LiveServer, tmp_path: Path) -> None:
    assert online("run", "tone", "a", "-o", str(tmp_path / "a.wav")).status == 0
    head, *found = rows(online("ps").text)
    assert head == ["NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL"]
    (tone,) = [row for row in found if row[0].startswith("tone")]
    assert tone[3] == "100% CPU"
    assert tone[5].endswith("from now")
    assert online("stop", "tone").status == 0
    live.until(lambda node: not [m for m in node.scheduler.loaded() if m.name.model == "tone"])
    assert "tone" not in online("ps").text


@pytest.mark.parametrize("given", ["--keepalive=-1m", "--keepalive=-1"])
def test_keepalive(online: Cli, tmp_path: Path, given: str) -> None:
    assert online("run", "tone", "a", "-o", str(tmp_path / "a.wav"), given).status == 0
    assert "Forever" in online("ps").text
    assert online("stop", "tone").status == 0


def test_stop_what_is_not_there(online: Cli) -> None:
    assert online("stop", "nobody").error == 'Error: couldn\'t find model "nobody" to stop\n'


def test_pull_and_push(online: Cli) -> None:
    done = online("pull", "tone")
    assert (done.status, done.out) == (0, b"")
    lines = done.error.splitlines()
    assert (lines[0], lines[-1]) == ("pulling manifest", "success")
    for command in (("pull", "nobody"), ("push", "tone")):
        done = online(*command)
        assert done.status == 1
        assert done.error.splitlines()[-1].startswith("Error: ")


def test_versions(online: Cli, alone: Cli, live: LiveServer) -> None:
    version = httpx.get(f"{live.url}/api/version").json()["version"]
    assert online("version").text == f"ollama-tts version is {version}\n"
    done = alone("version")
    assert done.status == 0
    assert "could not connect" in done.error
    assert "client version is" in done.error


def test_explain_accounts_for_every_character(alone: Cli) -> None:
    text = "Hello **you**, it is 5:30."
    done = alone("explain", "hibari", text, "--json")
    found = json.loads(done.out)
    assert {"utterances", "dropped"} == set(found)
    assert {"text", "language", "controls", "start", "end"} == set(found["utterances"][0])
    assert {(d["start"], d["end"], d["text"]) for d in found["dropped"]} == {
        (6, 8, "**"), (11, 13, "**"),
    }  # fmt: skip
    assert all(text[d["start"] : d["end"]] == d["text"] for d in found["dropped"])
    plain = alone("explain", "hibari", stdin=text.encode())
    assert "not spoken:" in plain.text
    assert "'**': markdown" in plain.text


def test_explain_tells_what_the_voice_would_refuse(alone: Cli) -> None:
    done = alone("explain", "hibari", "Hello 你好", "--json")
    assert json.loads(done.out)["utterances"]
    assert done.status == 1
    assert done.error == 'Error: this voice can\'t speak "你好" (Chinese); it speaks English\n'


def test_explain_needs_the_model(alone: Cli) -> None:
    assert alone("explain", "nobody", "x").error == "Error: model 'nobody' not found\n"
