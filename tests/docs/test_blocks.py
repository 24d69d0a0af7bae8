"""Every code block of README and docs runs as it stands, but for the address of the server."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from ollama_tts import modelfile
from tests.support.live import LiveServer

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
ADDRESS = "http://127.0.0.1:11434"

# What a test cannot run, and why.
ELSEWHERE = {
    "pip install": "installs the package that is being tested; .ci/run does it",
    "ollama-tts serve": "does not end; the live server stands for it",
    "ollama ": "the stock command is in no package index; its printing is ported in tests/api",
    "docker": "needs a Docker engine",
    "python -m pytest": "is this",
    "pytest": "is this",
    ".ci/run": "runs this",
    "systemctl": "needs systemd",
    "python docs/generate.py": "tests/docs/test_pages.py compares what it makes",
    "python benchmarks/": "measures; not for a test",
    "OMP_WAIT_POLICY": "measures; not for a test",
}


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str

    @override
    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text[: match.start()].count("\n") + 1
            yield Block(str(page.relative_to(ROOT)), line, match[1], match[2])


BLOCKS = list(blocks())


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


def run(command: list[str], server: LiveServer, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "OLLAMA_HOST": server.url,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        command,
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def test_every_block_says_its_language() -> None:
    known = {"bash", "console", "json", "mermaid", "python", "text", "toml", "yaml"}
    assert [str(block) for block in BLOCKS if block.language not in known] == []


def test_the_chinese_readme_has_the_same_blocks() -> None:
    pages = ("README.md", "README.zh.md")
    english, chinese = ([b.text for b in BLOCKS if b.page == page] for page in pages)
    assert english == chinese


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_python_blocks_run(block: Block, documented: LiveServer, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.text.replace(ADDRESS, documented.url), encoding="utf-8")
    run([sys.executable, str(script)], documented, tmp_path)
    for made in re.findall(r'"([\w.]+\.(?:wav|mp3))"', block.text):
        assert (tmp_path / made).stat().st_size > 1000


@pytest.mark.parametrize("block", of("bash"), ids=str)
def test_bash_blocks_run(block: Block, documented: LiveServer, tmp_path: Path) -> None:
    text = block.text.replace(ADDRESS, documented.url)
    run(["bash", "-euo", "pipefail", "-c", text], documented, tmp_path)


@pytest.mark.parametrize("block", of("console"), ids=str)
def test_console_blocks_run(block: Block, documented: LiveServer, tmp_path: Path) -> None:
    before = [b.text for b in of("text") if b.page == block.page and b.text.startswith("FROM ")]
    if before:
        (tmp_path / "Modelfile").write_text(before[0], encoding="utf-8")
    for command in block.text.replace("\\\n", " ").splitlines():
        if not command.strip() or any(command.startswith(start) for start in ELSEWHERE):
            continue
        assert command.startswith("ollama-tts "), command
        here = command.replace("ollama-tts ", f"{sys.executable} -m ollama_tts ")
        run(["bash", "-euo", "pipefail", "-c", here], documented, tmp_path)


@pytest.mark.parametrize(
    "block", [block for block in of("text") if block.text.startswith("FROM ")], ids=str
)
def test_modelfile_blocks_parse(block: Block) -> None:
    assert modelfile.parse(block.text)[0].name == "model"
