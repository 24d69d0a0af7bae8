"""All Modelfile cases that were recorded from Ollama's own parser and client."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from ollama_tts import modelfile
from ollama_tts.errors import InvalidModelfile

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "modelfile-cases.json").read_text()
)

# Ollama's client refuses these; a speech server must not, since they are what makes a voice.
OURS: dict[str, dict[str, object]] = {
    "tts_fp16": {"from": "base", "parameters": {"fp16": True}},
    "tts_gpu_layers": {"from": "base", "parameters": {"gpu_layers": 40}},
    "tts_voice_param": {"from": "base", "parameters": {"voice": "af_heart"}},
    "tts_speed_param": {"from": "base", "parameters": {"speed": 1.0}},
    "tts_sample_rate_param": {"from": "base", "parameters": {"sample_rate": 24000}},
}


def text_of(case: dict[str, Any]) -> str | bytes:
    if "modelfile_b64" in case:
        return base64.b64decode(case["modelfile_b64"])
    text: str = case["modelfile"]
    return text


def by_expectation(key: str) -> list[Any]:
    return [pytest.param(c, id=c["name"]) for c in CASES if key in c["expect"]]


@pytest.mark.parametrize("case", by_expectation("commands"))
def test_commands(case: dict[str, Any]) -> None:
    found = modelfile.parse(text_of(case))
    assert [{"name": c.name, "args": c.args} for c in found] == case["expect"]["commands"]


@pytest.mark.parametrize("case", by_expectation("parse_error"))
def test_parse_error(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidModelfile) as caught:
        modelfile.parse(text_of(case))
    assert str(caught.value) == case["expect"]["parse_error"]


@pytest.mark.parametrize("case", by_expectation("create_request"))
def test_create_request(case: dict[str, Any]) -> None:
    parts = modelfile.to_create_request(modelfile.parse(text_of(case)))
    assert parts.fields() == case["expect"]["create_request"]


@pytest.mark.parametrize("case", by_expectation("create_error"))
def test_create_error(case: dict[str, Any]) -> None:
    commands = modelfile.parse(text_of(case))
    if case["name"] in OURS:
        assert modelfile.to_create_request(commands).fields() == OURS[case["name"]]
        return
    with pytest.raises(InvalidModelfile) as caught:
        modelfile.to_create_request(commands)
    assert str(caught.value) == case["expect"]["create_error"]


@pytest.mark.parametrize("case", by_expectation("commands"))
def test_printed_text_parses_to_the_same_commands(case: dict[str, Any]) -> None:
    commands = modelfile.parse(text_of(case))
    assert modelfile.parse(modelfile.format(commands)) == commands


def test_every_case_is_used() -> None:
    assert len(CASES) == 65
    assert all({"commands", "parse_error"} & case["expect"].keys() for case in CASES)
