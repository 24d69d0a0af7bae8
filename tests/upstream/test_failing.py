"""A language model that fails before the first sound: its failure has a status."""

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.upstream import Bytes, Cut, ErrorLine, FakeOllama, Refusal, Step


@pytest.mark.parametrize(
    ("script", "status", "text"),
    [
        ([Refusal(404, "model 'qwen3' not found")], 502, "model 'qwen3' not found"),
        ([Refusal(400, "no such thing")], 400, "no such thing"),
        ([Refusal(503, "server busy", {"Retry-After": "7"})], 503, "server busy"),
        ([Refusal(500, "out of memory")], 502, "out of memory"),
        ([ErrorLine("runner died")], 502, "runner died"),
        (["Good", ErrorLine("runner died")], 502, "runner died"),
        ([Cut()], 502, "broke off"),
        (["Good", Cut()], 502, "broke off"),
        ([Bytes(b"<html>\n")], 502, "not understood"),
        ([" ", "\n"], 502, "answered nothing"),
        (["<think>Nothing to say."], 502, "answered nothing"),
        (["\U0001f600"], 400, "nothing that can be spoken"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_failures_before_the_first_sound_are_statuses(
    shared_front: LiveServer, shared_behind: FakeOllama,
    script: list[Step], status: int, text: str, stream: bool,
) -> None:  # fmt: skip
    shared_behind.models["qwen3:latest"] = script
    body = {"model": "talker", "prompt": "Hi", "stream": stream}
    answer = httpx.post(f"{shared_front.url}/api/generate", json=body, timeout=60)
    assert answer.status_code == status
    assert text in answer.json()["error"]
    assert answer.headers.get("retry-after") == ("7" if status == 503 else None)
    shared_front.until(lambda node: node.scheduler.active == 0)
