"""A short run of `benchmarks/hostile.py`, which throws 100,000 hostile inputs."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_hostile_inputs_end_in_errors_of_ours_and_stay_in_the_store() -> None:
    command = [sys.executable, "benchmarks/hostile.py", "--inputs", "1200", "--seed", "3"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    for kind in ("names", "digests", "paths", "manifests", "listings", "headers", "pulls"):
        assert f"{kind}: refused" in done.stdout
