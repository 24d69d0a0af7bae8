from datetime import UTC, datetime, timedelta

import pytest

from ollama_tts.cli import units

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (1500, "1.5 KB"), (9_990_000, "10.0 MB"),
     (12_345_678, "12 MB"), (4_661_224_676, "4.7 GB"), (2 * 10**12, "2 TB")],
)  # fmt: skip
def test_sizes_are_ollama_s(size_bytes: int, text: str) -> None:
    assert units.size(size_bytes) == text


@pytest.mark.parametrize(
    ("past", "text"),
    [(timedelta(milliseconds=300), "Less than a second ago"),
     (timedelta(seconds=1), "1 second ago"),
     (timedelta(seconds=59), "59 seconds ago"), (timedelta(minutes=1), "About a minute ago"),
     (timedelta(minutes=59), "59 minutes ago"), (timedelta(minutes=65), "About an hour ago"),
     (timedelta(hours=47), "47 hours ago"), (timedelta(days=3), "3 days ago"),
     (timedelta(days=21), "3 weeks ago"), (timedelta(days=100), "3 months ago"),
     (timedelta(days=900), "2 years ago"), (timedelta(minutes=-5), "5 minutes from now"),
     (timedelta(days=-365 * 292), "Forever")],
)  # fmt: skip
def test_moments_are_ollama_s(past: timedelta, text: str) -> None:
    assert units.ago(NOW - past, NOW) == text


def test_go_s_zero_time_is_never() -> None:
    assert units.ago(datetime(1, 1, 1, tzinfo=UTC), NOW) == "Never"


@pytest.mark.parametrize(
    ("size_bytes", "vram_bytes", "text"),
    [(10, 0, "100% CPU"), (10, 10, "100% GPU"), (10, 20, "Unknown"), (0, 0, "100% CPU"),
     (100, 59, "41%/59% CPU/GPU")],
)  # fmt: skip
def test_where_a_model_lies(size_bytes: int, vram_bytes: int, text: str) -> None:
    assert units.processor(size_bytes, vram_bytes) == text


def test_a_table_has_its_columns_under_each_other() -> None:
    assert units.table(("NAME", "SIZE"), [("hibari:latest", "1 MB"), ("tone", "0 B")]) == (
        "NAME             SIZE\n"
        "hibari:latest    1 MB\n"
        "tone             0 B\n"
    )  # fmt: skip
    assert units.table(("NAME", "SIZE"), []) == "NAME    SIZE\n"
