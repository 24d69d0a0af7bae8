import pytest
from hypothesis import given, strategies as st

from ollama_tts.text import chinese_numbers as zh, english_numbers as en


@pytest.mark.parametrize(
    ("number", "english", "chinese"),
    [
        (0, "zero", "零"),
        (10, "ten", "十"),
        (12, "twelve", "十二"),
        (21, "twenty one", "二十一"),
        (105, "one hundred five", "一百零五"),
        (110, "one hundred ten", "一百一十"),
        (1010, "one thousand ten", "一千零一十"),
        (2000, "two thousand", "两千"),
        (12000, "twelve thousand", "一万二千"),
        (20000, "twenty thousand", "两万"),
        (100001, "one hundred thousand one", "十万零一"),
        (200_000_000, "two hundred million", "两亿"),
    ],
)
def test_cardinals(number: int, english: str, chinese: str) -> None:
    assert en.cardinal(number) == english
    assert zh.cardinal(number) == chinese


def value(text: str) -> int:
    """Chinese characters back to the number, to check one direction by the other."""
    units = {"十": 10, "百": 100, "千": 1000}
    total = section = digit = 0
    for char in text.replace("两", "二"):
        if char in units:
            section += (digit or 1) * units[char]
            digit = 0
        elif char in "万亿":
            scale = 10_000 if char == "万" else 10**8
            total = (
                (total + section + digit) * scale
                if char == "亿"
                else total + (section + digit) * scale
            )
            section = digit = 0
        else:
            digit = zh.DIGITS.index(char)
    return total + section + digit


@given(st.integers(0, 10**11))
def test_chinese_cardinals_read_back(number: int) -> None:
    assert value(zh.cardinal(number)) == number


@given(st.integers(0, 10**14))
def test_english_cardinals_differ_and_have_no_digit(number: int) -> None:
    assert not any(char.isdigit() for char in en.cardinal(number))
    assert en.cardinal(number) != en.cardinal(number + 1)


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "first"), (2, "second"), (3, "third"), (5, "fifth"), (8, "eighth"), (9, "ninth"),
     (12, "twelfth"), (20, "twentieth"), (21, "twenty first"), (100, "one hundredth")],
)  # fmt: skip
def test_ordinals(number: int, said: str) -> None:
    assert en.ordinal(number) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [(1999, "nineteen ninety nine"), (1906, "nineteen oh six"), (1800, "eighteen hundred"),
     (2000, "two thousand"), (2005, "two thousand five"), (2024, "twenty twenty four"),
     (476, "four hundred seventy six")],
)  # fmt: skip
def test_years(number: int, said: str) -> None:
    assert en.year(number) == said


def test_written_numbers() -> None:
    assert en.spoken("-1,234.05") == "minus one thousand two hundred thirty four point zero five"
    assert en.spoken("007") == "zero zero seven"
    assert en.spoken(".5") == "point five"
    assert en.spoken("1" * 20) == " ".join(["one"] * 20)
    assert zh.spoken("-3.14") == "负三点一四"
    assert zh.spoken("1" * 20) == "一" * 20
    assert zh.phone("110") == "幺幺零"
    assert zh.counted("2") == "两"
    assert zh.scaled("3.5", 10**6) == "三百五十万"
    assert zh.scaled("1" * 20, 10) is None
    assert zh.scaled("0.0001", 1000) is None
    assert en.pairs("302") == "three oh two"
    assert en.pairs("1200") == "twelve hundred"
    assert en.pairs("12") == "twelve"
    assert en.pairs("12345") == en.digits("12345")
