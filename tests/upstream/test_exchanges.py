"""Thirty exchanges in shapes that Ollama gives, as data: each line passes as it was written.

The data holds what was asked and the lines of the answer, in Ollama's own spelling. They are sent
slowly, in pieces that split lines and characters, and must arrive byte for byte.
"""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.upstream import FakeOllama, Recorded

EXCHANGES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data/ollama-exchanges.json").read_text(encoding="utf-8")
)


def answer_of(exchange: dict[str, Any]) -> Recorded:
    end = "" if exchange["type"].startswith("application/json") else "\n"
    body = "".join(line + end for line in exchange["lines"]).encode()
    return Recorded(exchange.get("status", 200), exchange["type"], body, piece_bytes=61)


def test_there_are_thirty() -> None:
    assert len(EXCHANGES) == 30
    assert len({exchange["name"] for exchange in EXCHANGES}) == 30


@pytest.mark.parametrize("exchange", EXCHANGES, ids=[each["name"] for each in EXCHANGES])
def test_every_line_is_byte_equal(
    exchange: dict[str, Any], shared_front: LiveServer, shared_behind: FakeOllama
) -> None:
    recorded = answer_of(exchange)
    shared_behind.models["qwen3:latest"] = [recorded]
    path, body = exchange["path"], exchange["body"]
    answer = httpx.post(shared_front.url + path, json=body, timeout=60)
    assert answer.content == recorded.body
    assert answer.status_code == recorded.status
    assert answer.headers["content-type"] == recorded.media_type
    assert shared_behind.asked(path)[-1].json == body
