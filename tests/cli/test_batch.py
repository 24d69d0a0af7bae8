from pathlib import Path

import pytest
import soundfile

from ollama_tts.cli.batch import RETRY_LIST
from tests.cli.conftest import Cli
from tests.support.tone_listener import listen


def heard(path: Path) -> str:
    samples, rate = soundfile.read(path, dtype="float32")
    return listen(samples, rate)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("audio_format", ["wav", "flac"])
def test_each_line_gets_its_own_file(either: Cli, tmp_path: Path, audio_format: str) -> None:
    lines = ["First.", "Second.", "", "Fourth."]
    (tmp_path / "in.txt").write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    out = tmp_path / "out"
    done = either(
        "batch", str(tmp_path / "in.txt"), "-o", str(out), "-m", "tone", "--format", audio_format
    )
    assert (done.status, done.out) == (0, b"")
    assert files(out) == [f"00{n}.{audio_format}" for n in (1, 2, 4)]
    assert [heard(out / name) for name in files(out)] == ["First.", "Second.", "Fourth."]


def test_what_fails_is_named_and_tried_again(online: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    batch = ("batch", "-", "-o", str(out), "-m", "hibari", "--concurrency", "2")
    done = online(*batch, stdin="Good.\n\u2026\n\u4f60\u597d\n".encode())
    assert done.status == 1
    assert files(out) == ["001.wav", RETRY_LIST]
    assert (out / RETRY_LIST).read_text(encoding="utf-8") == "\u2026\n\u4f60\u597d\n"
    reports = done.error.splitlines()
    assert [line[:7] for line in reports[-3:]] == ["line 2:", "line 3:", "Error: "]
    assert "2 of 3 lines failed" in reports[-1]
    spoken = (out / "001.wav").stat().st_mtime_ns
    again = online(*batch, stdin=b"Good.\nBetter.\nBest.\n")
    assert again.status == 0
    assert files(out) == ["001.wav", "002.wav", "003.wav"]
    assert (out / "001.wav").stat().st_mtime_ns == spoken


def test_a_file_that_is_not_there(alone: Cli, tmp_path: Path) -> None:
    done = alone("batch", str(tmp_path / "no.txt"), "-o", str(tmp_path / "out"))
    assert done.status == 1
    assert done.error.startswith("Error: ")
    assert "no.txt" in done.error
