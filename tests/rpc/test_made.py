"""The committed code is what protoc makes of tts.proto."""

import subprocess
import sys
from pathlib import Path

import ollama_tts

ROOT = Path(ollama_tts.__file__).parents[1]
PROTO = "ollama_tts/protocol/pb/tts.proto"


def test_what_is_made_is_up_to_date(tmp_path: Path) -> None:
    out = str(tmp_path)
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "grpc_tools.protoc", f"-I{ROOT}",
         f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}", PROTO],
        check=True, timeout=100,
    )  # fmt: skip
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.py*"))
    assert len(made) == 3
    for path in made:
        assert (ROOT / path).read_text() == (tmp_path / path).read_text(), path
