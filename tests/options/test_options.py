import math
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidOption
from ollama_tts.options import (
    OLLAMA_ONLY,
    OPTIONS,
    LoadOptions,
    Option,
    SpeechOptions,
    audible,
    check_names,
    find,
    parse_text,
    resolve,
)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_row_has_its_field_with_the_same_default(option: Option) -> None:
    kind = LoadOptions if option.when == "load" else SpeechOptions
    name = "break_" if option.name == "break" else option.name
    assert getattr(kind(), name) == option.default


def test_names_and_aliases_are_unique_and_found_in_any_case() -> None:
    names = [name for option in OPTIONS for name in (option.name, *option.aliases)]
    assert len(names) == len(set(names))
    for name in names:
        assert find(name.upper()) is find(name)
    assert find("nothing") is None
    assert not OLLAMA_ONLY & set(names)


def test_later_layers_win_and_null_is_not_set() -> None:
    resolved = resolve({"speed": 0.9, "seed": 1}, None, {"speed": 1.5, "seed": None})
    assert resolved.speech.speed == 1.5
    assert resolved.speech.seed == 1
    assert resolved.given == {"speed", "seed"}


def test_aliases_and_spellings_mean_the_same() -> None:
    assert resolve({"num_gpu_layers": 20}).load == resolve({"gpu_layers": 20.0}).load
    assert resolve({"quantize": "Q8_0"}).load.quantization == "int8"
    assert resolve({"fp16": True}).load.quantization == "fp16"
    assert resolve({"fp16": False}).load.quantization == "auto"
    assert resolve({"language": "zh-CN"}).speech.language == "zh"
    assert resolve({"seed": -1}).speech.seed is None


def test_unknown_names_are_told_once_and_ollamas_own_are_not() -> None:
    resolved = resolve({"tempratur": 1, "stop": ["x"], "mirostat": 1}, {"tempratur": 2})
    assert resolved.unknown == ("tempratur",)


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("speed", 3, ["'speed'", "a number from 0.5 to 2", "not 3"]),
        ("speed", "fast", ["'speed'", "'fast'"]),
        ("speed", True, ["'speed'", "true"]),
        ("seed", 1.5, ["'seed'", "an integer", "1.5"]),
        ("seed", 10**400, ["'seed'", "digits"]),
        ("seed", 2**130, ["'seed'"]),
        pytest.param("speed", -(10**5000), ["'speed'", "digits"], id="endless"),
        ("temperature", math.nan, ["'temperature'"]),
        ("temperature", math.inf, ["'temperature'"]),
        ("temperature", -1, ["'temperature'", "-1"]),
        ("top_p", 0, ["'top_p'", "above 0"]),
        ("normalize", "yes", ["'normalize'", "true or false"]),
        ("audio_format", "xyz", ["'audio_format'", "wav, pcm, mp3", "'xyz'"]),
        ("voice", 5, ["'voice'", "a text"]),
        ("voice", "a\x00b", ["'voice'"]),
        ("voice", "x" * 70_000, ["'voice'", "..."]),
        ("num_ctx", 10**12, ["'num_ctx'", "64 to 4096"]),
        ("seed", 2**63, ["-9223372036854775808 to 9223372036854775807"]),
    ],
)
def test_a_refusal_names_option_value_and_what_is_allowed(
    name: str, value: object, parts: list[str]
) -> None:
    with pytest.raises(InvalidOption) as refused:
        resolve({name: value})
    assert all(part in str(refused.value) for part in parts), str(refused.value)
    assert len(str(refused.value)) < 300


@given(st.dictionaries(st.sampled_from([o.name for o in OPTIONS] + ["x"]), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)))  # fmt: skip
def test_whatever_arrives_is_taken_or_refused(values: dict[str, object]) -> None:
    with suppress(InvalidOption):
        resolve(values)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("speed", "0.9", 0.9),
        ("seed", " 42 ", 42),
        ("seed", "42.0", 42),
        ("refine_text", "T", True),
        ("audio_format", "MP3", "mp3"),
        ("stop", "[x]", ["[x]"]),
        ("mirostat", "1", "1"),
        ("fp16", "true", True),
    ],
)
def test_a_parameters_text_becomes_its_type(name: str, text: str, value: object) -> None:
    assert parse_text(name, text) == value


@pytest.mark.parametrize(("name", "text"), [("speed", "fast"), ("seed", "0x10"), ("oral", "1.5")])
def test_a_text_of_another_type_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidOption, match=name):
        parse_text(name, text)


def test_an_unknown_parameter_gets_the_nearest_name() -> None:
    with pytest.raises(InvalidOption, match="did you mean 'temperature'"):
        check_names(["tempratur"])


def test_what_is_not_heard_is_not_in_the_cache_key() -> None:
    heard = audible(SpeechOptions())
    assert {"speed", "voice", "seed", "audio_format", "break"} <= set(heard)
    assert not {"cache", "priority", "deadline_ms", "custom_metrics"} & set(heard)
