"""`ollama run MODEL TEXT | base64 -d > a.wav` with the stock command line gives the exact file."""

import base64
import binascii

import httpx
import pytest

from tests.support.ollama_run import printed
from tests.support.wire import lines_of


def test_the_port_wraps_as_the_stock_command_line_does() -> None:
    assert len(printed(["A" * 4000])) == 7902  # observed with the real code


@pytest.mark.parametrize(("chars", "exact"), [(64, True), (74, True), (76, False)])
def test_only_short_lines_survive_the_wrap(chars: int, exact: bool) -> None:
    text = (("A" * chars) + "\n") * 20
    assert (printed([text]) == text + "\n\n") is exact


@pytest.mark.parametrize("audio_format", ["wav", "mp3", "opus"])
def test_the_printed_text_decodes_to_the_exact_file(audio_format: str, http: httpx.Client) -> None:
    body = {
        "model": "tone",
        "prompt": "Some text that is long enough for many lines. " * 20,
        "options": {"audio_format": audio_format, "seed": 1},
    }
    lines = lines_of(http.post("/api/generate", json=body).content)
    parts = [line["response"] for line in lines]
    raw = http.post("/api/generate", json=body, headers={"Accept": "audio/*"}).content
    on_screen = printed(parts)
    assert "\x1b" not in on_screen
    assert binascii.a2b_base64(on_screen) == base64.b64decode("".join(parts)) == raw
