"""A short form of benchmarks/hostile_weights.py; docs/benchmarks.md has what the long one found."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_hostile_files_are_read_or_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/hostile_weights.py"), "--inputs", "200"],
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0 writes outside" in done.stdout
