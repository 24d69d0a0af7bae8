"""`benchmarks/fuzz.py` in short: random frames and messages at a server in its own process."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.fuzz import Found, over_streams
from benchmarks.served import served


@pytest.mark.slow
def test_random_frames_and_messages_end_well_or_clearly(tmp_path: Path) -> None:
    found = Found()
    with served(tmp_path) as server:
        asyncio.run(over_streams(server, range(200), found))
        assert "Traceback" not in server.log.read_text()
    assert found.wrong == []
    assert found.counts.total() == 400
    assert found.counts["websocket ended well"] > 100
