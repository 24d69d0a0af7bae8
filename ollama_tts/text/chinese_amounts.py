"""Money, percent, measures, fractions and scale words in Chinese."""

import re

from ollama_tts.text.chinese_dates import HAN_FREE
from ollama_tts.text.chinese_numbers import cardinal, counted, scaled, spoken
from ollama_tts.text.rule import NUMBER, Rule, ascii_rule
from ollama_tts.text.units import PER, TIGHT, UNITS, alternatives

_SIGNS = {
    "¥": "元",
    "￥": "元",
    "$": "美元",
    "US$": "美元",
    "HK$": "港元",
    "NT$": "新台币",
    "A$": "澳元",
    "C$": "加元",
    "S$": "新加坡元",
    "€": "欧元",
    "£": "英镑",
    "₩": "韩元",
    "₽": "卢布",
    "₹": "卢比",
    "₿": "比特币",
}
_CODES = {
    "USD": "美元",
    "EUR": "欧元",
    "GBP": "英镑",
    "JPY": "日元",
    "CNY": "元",
    "RMB": "元",
    "HKD": "港元",
    "AUD": "澳元",
    "CAD": "加元",
    "KRW": "韩元",
    "SGD": "新加坡元",
    "CHF": "瑞士法郎",
}
_FACTORS = {
    "k": 10**3,
    "K": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "M": 10**6,
    "mn": 10**6,
    "million": 10**6,
    "b": 10**9,
    "B": 10**9,
    "bn": 10**9,
    "billion": 10**9,
    "T": 10**12,
    "trillion": 10**12,
}
_FRACTIONS = {
    "½": (1, 2),
    "⅓": (1, 3),
    "⅔": (2, 3),
    "¼": (1, 4),
    "¾": (3, 4),
    "⅕": (1, 5),
    "⅖": (2, 5),
    "⅗": (3, 5),
    "⅘": (4, 5),
    "⅙": (1, 6),
    "⅚": (5, 6),
    "⅛": (1, 8),
    "⅜": (3, 8),
    "⅝": (5, 8),
    "⅞": (7, 8),
}
_SCALE = rf"(?:\s?({alternatives(_FACTORS)}|[万亿千百]+)(?![A-Za-z]))?"
_SIGN = f"({alternatives(_SIGNS)})"
_TO = r"\s?(?:-|–|—|－|~|至|到)\s?"
_PREFIX = {
    "+": "正",
    "±": "正负",
    "~": "约",
    "≈": "约",
    "-": "负",
    "−": "负",
    "<": "小于",
    ">": "大于",
}


def _sized(number: str, scale: str | None) -> str:
    """A number with its scale: "3.5", "M" is 三百五十万; "3.5", "万" is 三点五万."""
    if not scale:
        return counted(number)
    if scale in _FACTORS:
        return scaled(number, _FACTORS[scale]) or spoken(number)
    return counted(number) + scale


def _money(match: re.Match[str]) -> str:
    sign, symbol, low, number, scale = match[1], match[2], match[3], match[4], match[5]
    said = f"{spoken(low)}到" if low else ""
    return ("负" if sign else "") + said + _sized(number, scale) + _SIGNS[symbol]


def _money_behind(match: re.Match[str]) -> str:
    return _sized(match[1], match[2]) + _SIGNS[match[3]]


def _code(match: re.Match[str]) -> str:
    return _sized(match[2], match[3]) + _CODES[match[1]]


def _code_behind(match: re.Match[str]) -> str:
    return _sized(match[1], match[2]) + _CODES[match[3]]


def _prefixed(text: str) -> str:
    if text[0] in _PREFIX:
        return _PREFIX[text[0]] + spoken(text[1:].strip())
    return spoken(text)


def _percent(match: re.Match[str]) -> str:
    of = "千分之" if match[3] == "‰" else "百分之"
    low, number = match[1], match[2]
    if low:
        both = f"到{of}" if match[0].count(match[3]) > 1 else "到"
        return f"{of}{spoken(low)}{both}{spoken(number)}"
    if number[0] in _PREFIX:
        return _PREFIX[number[0]] + of + spoken(number[1:].strip())
    return of + spoken(number)


def _degrees(match: re.Match[str]) -> str:
    low, unit, number, scale, sign = match.groups()
    name = {"C": "摄氏度", "℃": "摄氏度", "F": "华氏度", "℉": "华氏度"}.get(
        scale or sign or "", "度"
    )
    head = f"{_temperature(low, name)}{name if unit else ''}到" if low else ""
    return f"{head}{_temperature(number, name)}{name}"


def _temperature(number: str, name: str) -> str:
    if number[0] in "-−" and name != "度":
        return "零下" + spoken(number[1:])
    return _prefixed(number)


def _measure(match: re.Match[str]) -> str | None:
    low, number, space, name, per = match.groups()
    if space and name in TIGHT:
        return None
    unit = UNITS[name].zh
    head = f"{spoken(low)}到" if low else ""
    said = counted(number) if number[0].isdigit() else _prefixed(number)
    gap = " " if unit[0].isascii() else ""
    rate = f"每{PER[per][1]}" if per else ""
    return f"{head}{said}{gap}{unit}{rate}"


def _times_scaled(match: re.Match[str]) -> str | None:
    number, letter = match[1], match[2]
    if letter in "KMB" and "." not in number and (len(number) == 1 or letter in "MB"):
        return None
    return scaled(number, _FACTORS[letter])


def _fraction(match: re.Match[str]) -> str | None:
    whole, over, under = match[1], int(match[2]), int(match[3])
    if under == 0 or (over, under) == (24, 7):
        return "七天二十四小时" if under else None
    head = f"{cardinal(int(whole))}又" if whole else ""
    return f"{head}{cardinal(under)}分之{cardinal(over)}"


def _fraction_sign(match: re.Match[str]) -> str:
    over, under = _FRACTIONS[match[2]]
    head = f"{cardinal(int(match[1]))}又" if match[1] else ""
    return f"{head}{cardinal(under)}分之{cardinal(over)}"


AMOUNT_RULES: tuple[Rule, ...] = (
    ascii_rule(
        rf"(-)?{_SIGN}\s?(?:({NUMBER}){_TO}(?:{_SIGN[1:-1]})?)?({NUMBER}){_SCALE}(?:[元块]|美元)?",
        _money,
        sign=r"[$€£¥￥₩₽₹₿]",
    ),
    ascii_rule(
        rf"{HAN_FREE}({NUMBER}){_SCALE}\s?([€£¥￥$])(?!\d)", _money_behind, sign=r"[$€£¥￥]"
    ),
    ascii_rule(rf"\b({alternatives(_CODES)})\s?({NUMBER}){_SCALE}", _code, sign="[A-Z]{3}"),
    ascii_rule(
        rf"{HAN_FREE}({NUMBER}){_SCALE}\s?({alternatives(_CODES)})(?![A-Za-z])",
        _code_behind,
        sign="[A-Z]{3}",
    ),
    ascii_rule(
        rf"{HAN_FREE}(?:([-+]?{NUMBER})\s?[%‰]?{_TO})?([-−+±~≈<>]?\s?{NUMBER})\s?([%‰])",
        _percent,
        sign="[%‰]",
    ),
    ascii_rule(
        rf"{HAN_FREE}(?:([-−]?{NUMBER})\s?(°\s?[CF]?|[℃℉])?{_TO})?([-−+±~]?{NUMBER})\s?(?:°\s?([CF])?|([℃℉]))",
        _degrees,
        sign="[°℃℉]",
    ),
    ascii_rule(
        rf"{HAN_FREE}(?:({NUMBER}){_TO})?([-−+±~<>]?{NUMBER})(\s?)({alternatives(UNITS)})(?![A-Za-z²³0-9])(?:\s?/\s?({alternatives(PER)}|人|天|月|年|次|晚)(?![A-Za-z]))?",
        _measure,
        sign=r"\d\s?[A-Za-zµΩ]",
    ),
    ascii_rule(
        rf"{HAN_FREE}({NUMBER})(k|K|M|bn|B)(\+)?(?![A-Za-z0-9])", _times_scaled, sign=r"\d[kKMbB]"
    ),
    ascii_rule(
        r"(?<![A-Za-z0-9_./])(?:(\d+)\s)?(\d{1,4})/(\d{1,4})(?![\d/])", _fraction, sign=r"\d/\d"
    ),
    ascii_rule(rf"(\d+)?\s?([{''.join(_FRACTIONS)}])", _fraction_sign, sign=None),
)
"""Money, percent, degrees, measures, fractions."""
