import pytest

from ollama_tts.service.go_text import literal, parameter_lines, plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"), (False, "false"), (42, "42"), (1_000_000, "1000000"), (0.3, "0.3"),
        (1.0, "1"), (1e-05, "1e-05"), (1e21, "1e+21"), (1.5e300, "1.5e+300"), (-0.5, "-0.5"),
        (1e6, "1000000"), ("a b", "a b"), ({"a": [1]}, '{"a": [1]}'), (None, "null"),
    ],
)  # fmt: skip
def test_plain(value: object, text: str) -> None:
    assert plain(value) == text


def test_numbers_read_back_as_they_were() -> None:
    numbers = [0.1, 1e-7, 123456.789, 2**53, 1e15, 1e16, 1e17, 3.4e38, 5e-324]
    assert [float(plain(number)) for number in numbers] == numbers


def test_texts_stand_in_quotes() -> None:
    assert literal('a "b"\n中') == '"a \\"b\\"\\n中"'
    assert literal(3) == "3"


def test_lines_as_ollama_pads_them() -> None:
    assert parameter_lines({"seed": 42, "stop": ["a", "b"], "temperature": 0.5}) == (
        "seed                           42\n"
        'stop                           "a"\n'
        'stop                           "b"\n'
        "temperature                    0.5"
    )
    assert parameter_lines({}) == ""
