"""The list of voices and what a name means."""

from pathlib import Path

import pytest

from ollama_tts.errors import InvalidOption
from ollama_tts.names import ModelName
from ollama_tts.node import Node
from ollama_tts.server.wyoming.voices import Chosen, Named, Wish, choose, info, listed
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.packages import PackageModel
from tests.support.live import settings_for
from tests.support.services import mini_files, services

VOICES = [
    Named("hibari/heart", "hibari", "heart", "Heart (hibari)", ("en",)),
    Named("chattts:int8", "chattts:int8", "", "chattts:int8", ("en", "zh")),
]


async def test_chattts_is_one_voice_of_two_languages(tmp_path: Path) -> None:
    async with Node(settings_for(tmp_path / "models")) as node:
        name = ModelName.parse("chattts:int8")
        node.store.install(PackageModel(name, ModelConfig(model_format="chattts")))
        voices = await listed(node)
    assert voices[0] == VOICES[1], "the only chattts is the default model"
    [program] = info(voices).tts
    assert program.voices[0].languages == ["en", "zh"]
    names = [voice.name for voice in voices]
    assert len(set(names)) == len(names)


async def test_named_voices_of_chattts_are_listed_after_its_own_choice(tmp_path: Path) -> None:
    kept = services(tmp_path / "models")
    await kept.create(model="cast", files=kept.upload(mini_files()))
    async with Node(settings_for(tmp_path / "models")) as node:
        voices = [voice for voice in await listed(node) if voice.model == "cast"]
    assert [voice.name for voice in voices] == ["cast", "cast/anna", "cast/ben"]
    assert {voice.languages for voice in voices} == {("en", "zh")}
    assert choose(voices, "", Wish("cast/ben")) == Chosen("cast", {"voice": "ben"})
    assert choose(voices, "", Wish(language="zh")) == Chosen("cast", {"language": "zh"})


@pytest.mark.parametrize(
    ("wish", "chosen"),
    [
        (Wish(), Chosen("the default")),
        (Wish("hibari/heart"), Chosen("hibari", {"voice": "heart"})),
        (Wish("Hibari:latest/HEART"), Chosen("hibari", {"voice": "heart"})),
        (Wish("hibari"), Chosen("hibari")),
        (Wish("hibari", speaker="bella"), Chosen("hibari", {"voice": "bella"})),
        (Wish("chattts:int8"), Chosen("chattts:int8")),
        (Wish("chattts:int8", speaker="seed:7"), Chosen("chattts:int8", {"voice": "seed:7"})),
        (Wish(language="en-GB"), Chosen("hibari", {"language": "en", "voice": "heart"})),
        (Wish(language="zh_CN"), Chosen("chattts:int8", {"language": "zh"})),
    ],
)
def test_choices(wish: Wish, chosen: Chosen) -> None:
    assert choose(VOICES, "the default", wish) == chosen


def test_what_is_not_there_is_refused_with_what_is() -> None:
    with pytest.raises(InvalidOption, match=r"'x' must be one of hibari/heart, chattts:int8$"):
        choose(VOICES, "", Wish("x"))
    with pytest.raises(InvalidOption, match=r"'xx' must be one of en, zh$"):
        choose(VOICES, "", Wish(language="xx"))
    many = [Named(f"m/{n}", "m", str(n), "", ("en",)) for n in range(100)]
    with pytest.raises(InvalidOption, match=r"m/19 … \(100 in all\)$"):
        choose(many, "", Wish("x"))
