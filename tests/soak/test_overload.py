"""`benchmarks/overload.py` in short: who gets what, without a claim about time."""

from pathlib import Path

from benchmarks.overload import measured


def test_ten_times_too_many_are_all_answered(tmp_path: Path) -> None:
    figures = measured(tmp_path, times=10.0, seconds=2.0, calm=2)
    assert figures["lost"] == 0
    assert figures["spoken"] + figures["refused"] == figures["arrivals"]
    assert figures["spoken"] >= 4, "all places are used"
    assert figures["refused"] > figures["spoken"]
    assert figures["without_retry_after"] == 0
    assert figures["recovery_s"] < float("inf")
