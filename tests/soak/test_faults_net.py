"""`benchmarks/faults_net.py` in short: the server goes on, and holds nothing."""

import sys
from pathlib import Path

import pytest

from benchmarks.faults_net import measured


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and sets another's limits")
def test_slow_idle_half_open_and_too_many_callers_harm_nobody(tmp_path: Path) -> None:
    assert measured(tmp_path, 50).wrong == []
