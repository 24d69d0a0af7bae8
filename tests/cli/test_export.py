"""create -q, export, and create from what was exported: the same file, the same sound."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cli.conftest import ROOT, Cli
from tests.support.live import LiveServer

MINI = ROOT / "tests/data/chattts-mini"


def test_round_trip(online: Cli, live: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"FROM {MINI}\nPARAMETER seed 7\nLICENSE mine\n")
    (tmp_path / "b").write_text("FROM ./q.gguf\nPARAMETER seed 7\nPARAMETER quantization int8\n")
    made = online("create", "trip", "-f", str(tmp_path / "a"), "-q", "q8_0")
    assert made.status == 0, made.error
    assert "quantizing F16 model to Q8_0" in made.error
    store = str(live.settings.models_dir)
    out = str(tmp_path / "q.gguf")
    exported = online("export", "trip", "-o", out, OLLAMA_MODELS=store)
    assert (exported.status, exported.text) == (0, ""), exported.error
    again = online("create", "trip-again", "-f", str(tmp_path / "b"))
    assert again.status == 0, again.error
    shown = online("show", "trip-again", "-v").text
    assert "Q8_0" in shown
    assert "gpt.layers.0.mlp.up_proj.weight" in shown
    for name in ("trip", "trip-again"):
        said = online(
            "run", name, "Good morning, how are you today?", "-o", str(tmp_path / f"{name}.wav")
        )
        assert said.status == 0, said.error
    first, second = ((tmp_path / f"{n}.wav").read_bytes() for n in ("trip", "trip-again"))
    assert len(first) > 20_000
    assert first == second


def test_what_cannot_be_exported(online: Cli, live: LiveServer, tmp_path: Path) -> None:
    out, store = str(tmp_path / "x.gguf"), str(live.settings.models_dir)
    nobody = online("export", "nobody", "-o", out, OLLAMA_MODELS=store)
    assert (nobody.status, nobody.error) == (1, "Error: model 'nobody:latest' not found\n")
    package = online("export", "tone", "-o", out, OLLAMA_MODELS=store)
    assert package.status == 1
    assert package.error.startswith("Error: tone models come with a package")
    assert list(tmp_path.iterdir()) == []


def test_only_a_file_is_replaced(online: Cli, live: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "m").write_text(f"FROM {MINI}\n")
    assert online("create", "whole", "-f", str(tmp_path / "m")).status == 0
    store = str(live.settings.models_dir)
    folder = tmp_path / "out"
    folder.mkdir()
    pipe, link, device = folder / "pipe", folder / "link", folder / "null"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "linked.gguf")
    device.symlink_to("/dev/null")
    with ThreadPoolExecutor(1) as thread:
        read = thread.submit(pipe.read_bytes)
        for out in (pipe, link, device):
            done = online("export", "whole", "-o", str(out), OLLAMA_MODELS=store)
            assert done.status == 0, done.error
        piped = read.result()
    assert pipe.is_fifo()
    assert device.is_char_device()
    assert link.is_symlink()
    assert (tmp_path / "linked.gguf").read_bytes() == piped
    for place, why in ((str(folder), "Is a directory"), ("", "Is a directory"),
                       (str(tmp_path / "gone/x"), "there is no folder")):  # fmt: skip
        refused = online("export", "whole", "-o", place, OLLAMA_MODELS=store)
        assert refused.status == 1
        assert why in refused.error
        assert "Traceback" not in refused.error
    assert sorted(folder.iterdir()) == sorted((pipe, link, device))
