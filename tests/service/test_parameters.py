import pytest

from ollama_tts.errors import InvalidOption
from ollama_tts.service.parameters import checked, quantization, quantization_of_tag


def test_canonical_names_and_types() -> None:
    raw = {
        "gpu_layers": 40.0, "speed": 1, "quantize": "Q8_0", "stop": "x", "min_p": 1, "seed": None,
        "num_keep": 5.0, "use_mmap": True, "Language": "English",
    }  # fmt: skip
    found = checked(raw)
    assert found == {
        "num_gpu": 40, "speed": 1.0, "quantization": "int8", "stop": ["x"], "min_p": 1.0,
        "num_keep": 5, "use_mmap": True, "language": "en",
    }  # fmt: skip
    assert [type(value) for value in (found["num_gpu"], found["num_keep"])] == [int, int]


def test_fp16_is_a_quantization_and_its_absence_is_nothing() -> None:
    assert checked({"fp16": True}) == {"quantization": "fp16"}
    assert checked({"fp16": False}) == {}


def test_what_old_clients_send_is_dropped() -> None:
    assert checked({"num_gqa": 8, "mirostat": 1, "f16_kv": True, "numa": {}}) == {}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"tempratur": 1}, "unknown parameter 'tempratur'; did you mean 'temperature'?"),
        ({"temperature": "warm"}, "option 'temperature' must be a number from 0"),
        ({"speed": 9}, "from 0.5 to 2, not 9"),
        ({"min_p": "x"}, "option 'min_p' must be a number"),
        ({"num_keep": 1.5}, "option 'num_keep' must be an integer"),
        ({"use_mmap": 1}, "option 'use_mmap' must be true or false"),
        ({"stop": [1]}, 'option "stop" must be of an array of strings'),
        ({"stop": {}}, 'option "stop" must be of an array of strings'),
        ({"stop": ["x"] * 300}, "may have 256 texts, not 300"),
        ({"voice": ["x"]}, "option 'voice' must be a text"),
        ({"fp16": "yes"}, "option 'fp16' must be true or false"),
        ({f"x{i}": 1 for i in range(300)}, "may have 256 parameters, not 300"),
    ],
)
def test_refused(raw: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        checked(raw)
    assert words in str(caught.value)


def test_quantization() -> None:
    assert [quantization(text) for text in ("int8", "Q4_0", "F16", "fp32")] == [
        "int8", "int4", "fp16", "fp32",
    ]  # fmt: skip
    with pytest.raises(InvalidOption) as caught:
        quantization("int3")
    start = "unsupported quantization type INT3 - supported types are "
    assert str(caught.value).startswith(start)
    listed = set(str(caught.value).removeprefix(start).split(", "))
    assert {"int8", "q8_0", "fp32", "f16", "q5_0"} <= listed
    assert not listed & {"auto", "latest"}


@pytest.mark.parametrize(
    ("tag", "expected"),
    [("q8_0", "int8"), ("FP16", "fp16"), ("latest", None), ("auto", None), ("v1", None)],
)
def test_quantization_of_tag(tag: str, expected: str | None) -> None:
    assert quantization_of_tag(tag) == expected
