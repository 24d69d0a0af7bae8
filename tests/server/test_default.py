"""The model of doors whose `model` field is optional."""

from dataclasses import replace
from pathlib import Path

import pytest

from ollama_tts.errors import ModelNotFound
from ollama_tts.names import ModelName
from ollama_tts.node import Node
from ollama_tts.server.default import default_model, model_or_default
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.packages import PackageModel
from tests.support.live import settings_for


def chattts(tag: str) -> PackageModel:
    return PackageModel(ModelName.parse(f"chattts:{tag}"), ModelConfig(model_format="chattts"))


async def test_the_setting_then_the_only_chattts_then_hibari(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "models")
    async with Node(settings) as node:
        assert default_model(node) == "hibari"
        node.store.install(chattts("int8"))
        assert default_model(node) == "chattts:int8"
        node.store.install(chattts("fp16"))
        assert default_model(node) == "hibari"
    async with Node(replace(settings, default_model="tone")) as node:
        assert default_model(node) == "tone"


async def test_a_name_that_was_given_must_be_there(tmp_path: Path) -> None:
    async with Node(settings_for(tmp_path / "models")) as node:
        assert model_or_default(node, "") == "hibari"
        assert model_or_default(node, "TONE") == "TONE"
        with pytest.raises(ModelNotFound, match="model 'nope' not found"):
            model_or_default(node, "nope")
