"""Dates, times and telephone numbers in English words."""

import re

from ollama_tts.text.english_numbers import cardinal, digits, ordinal, year
from ollama_tts.text.rule import ALONE, Rule, rule
from ollama_tts.text.wordlist import listed

MONTHS = listed(
    "January February March April May June July August September October November December"
)
_SHORT = {name[:3].lower(): name for name in MONTHS}
_MONTH = (
    r"(" + "|".join([*MONTHS, r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"]) + r")"
)
_DAYS = {
    "mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "thu": "Thursday",
    "thur": "Thursday", "thurs": "Thursday", "fri": "Friday", "sat": "Saturday", "sun": "Sunday",
}  # fmt: skip
_DAY = r"(Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
_MONTH_SIGN = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_TH = r"(?:st|nd|rd|th)?"
_YEAR = r"(\d{4})(?![\d-])"
_HALF = r"(?:\s?([AaPp])\.?[Mm](?:\.|\b))"
_PHONE_WORD = (
    r"(?i:\b(?:call|dial|phone|tel|telephone|fax|hotline|text|ring|extension|ext|pin|code|"
    r"passcode|password|otp|zip|isbn|ssn|account|serial|tracking|order|card|id|ticket)\b"
    r"(?: (?:number|no\.|code|us|me|is|at|on|ending in|to))*[\s:.#]*)"
)


def month_name(text: str) -> str:
    """The whole name of a month written in any way."""
    return _SHORT[text.lower()[:3]]


def _iso(match: re.Match[str]) -> str | None:
    said = _date(int(match[1]), int(match[2]), int(match[3]))
    if said is None or match[4] is None:
        return said
    return f"{said}, {clock(int(match[4]), match[5], match[6])}"


def _date(year_: int | None, month: int, day: int) -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    said = f"{MONTHS[month - 1]} {ordinal(day)}"
    return said if year_ is None else f"{said}, {year(year_)}"


def _slashed(match: re.Match[str]) -> str | None:
    """Month first, as in the United States, unless only the day can be that large."""
    first, second, last = int(match[1]), int(match[2]), int(match[3])
    if len(match[3]) == 2:
        last += 2000 if last < 70 else 1900
    month, day = (first, second) if first <= 12 else (second, first)
    return _date(last, month, day)


def _dotted(match: re.Match[str]) -> str | None:
    """Day first, as in Europe."""
    return _date(int(match[3]), int(match[2]), int(match[1]))


def _month_day(match: re.Match[str]) -> str | None:
    day = int(match[2])
    if not 1 <= day <= 31:
        return None
    said = f"{month_name(match[1])} {ordinal(day)}"
    if match[3]:
        said += f" to {ordinal(int(match[3]))}"
    return f"{said}, {year(int(match[4]))}" if match[4] else said


def _day_month(match: re.Match[str]) -> str | None:
    day = int(match[2])
    if not 1 <= day <= 31:
        return None
    said = f"{match[1] or 'the '}{ordinal(day)} of {month_name(match[3])}"
    return f"{said}, {year(int(match[4]))}" if match[4] else said


def _month_year(match: re.Match[str]) -> str:
    return f"{month_name(match[1])} {year(int(match[2]))}"


def _weekday(match: re.Match[str]) -> str:
    return _DAYS[match[1].lower()] + ("," if match[2] == "," else "")


def _weekdays(match: re.Match[str]) -> str:
    return f"{_DAYS[match[1].lower()]} to {_DAYS[match[2].lower()]}"


def _month_slash_day(match: re.Match[str]) -> str | None:
    return _date(None, int(match[1]), int(match[2]))


def clock(hour: int, minutes: str, seconds: str | None = None, half: str | None = None) -> str:
    """A time of day: 9:05 "nine oh five", 14:00 "fourteen hundred", with `half` "a" or "p"."""
    minute = int(minutes)
    said = cardinal(hour)
    if minute:
        said += f" oh {cardinal(minute)}" if minute < 10 else f" {cardinal(minute)}"
    elif seconds is None and half is None:
        said = "midnight" if hour == 0 else f"{said} o'clock" if hour <= 12 else f"{said} hundred"
    if seconds is not None:
        said += f" and {cardinal(int(seconds))} second" + ("" if int(seconds) == 1 else "s")
    return f"{said} {half.upper()}M" if half else said


def _time(match: re.Match[str]) -> str | None:
    hour, minutes = int(match[1]), match[2]
    if hour > 24 or int(minutes) > 59 or (match[3] and int(match[3]) > 59):
        return None
    return clock(hour, minutes, match[3], match[4]) + _full_stop(match)


def _full_stop(match: re.Match[str]) -> str:
    """The point of "p.m." that also ends its sentence."""
    ends = match[0].endswith(".") and not match.string[match.end() :].strip("\"'”’) ")
    return "." if ends else ""


def _hours(match: re.Match[str]) -> str | None:
    if int(match[1]) > 12:
        return None
    if match[2]:
        said = f"{cardinal(int(match[1]))} to {cardinal(int(match[2]))}"
    else:
        said = cardinal(int(match[1]))
    return f"{said} {match[3].upper()}M{_full_stop(match)}"


def _ratio(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))} to {cardinal(int(match[2]))}"


def _phone(match: re.Match[str]) -> str:
    """Digit by digit, a comma between the groups."""
    said = ", ".join(digits(group) for group in re.findall(r"\d+", match[0]))
    return f"plus {said}" if match[0].lstrip("(").startswith("+") else said


def _after_word(match: re.Match[str]) -> str:
    groups = ", ".join(digits(group) for group in re.findall(r"\d+", match[2]))
    return match[1].replace("#", "number ") + groups


def _decade(match: re.Match[str]) -> str | None:
    text = match[1]
    if len(text) == 2:
        return _decade_name(int(text)) if text[1] == "0" and text != "00" else None
    high, low = int(text[:2]), int(text[2:])
    if low == 0:
        return "two thousands" if high == 20 else f"{cardinal(high)} hundreds"
    return f"{cardinal(high)} {_decade_name(low)}" if low % 10 == 0 else None


def _decade_name(number: int) -> str:
    name = cardinal(number)
    return name[:-1] + "ies" if name.endswith("y") else name + "s"


def _years(match: re.Match[str]) -> str | None:
    first, second = match[1], match[2]
    if len(second) == 2:
        if int(second) <= int(first[2:]):
            return None
        return f"{year(int(first))} to {cardinal(int(second))}"
    return f"{year(int(first))} to {year(int(second))}"


_NOT_YEARS = (
    r"(?!\s+(?:people|men|women|children|students|units|points|times|miles|dollars|euros|pounds|"
    r"words|pages|items|users|items|steps|hours|days|years|meters|files|lines|calories|others|"
    r"copies|members|employees|tokens|characters|votes|seats|square|cubic|percent|"
    r"of (?:them|the))\b)"
)


def _year_alone(match: re.Match[str]) -> str:
    return year(int(match[1]))


def _context_year(match: re.Match[str]) -> str:
    return match[1] + year(int(match[2]))


DATE_RULES: tuple[Rule, ...] = (
    rule(rf"\b{_DAY}\.?\s?[-–]\s?{_DAY}\b", _weekdays, sign="[-–]"),
    rule(
        r"(?<=\d[ap]m)\s?[-–—]\s?(?=\d)",
        lambda _: " to ",
        sign=r"\d[AaPp][Mm]\s?[-–—]",
        flags=re.IGNORECASE,
    ),
    rule(r"(?<=\b(?:on|by) )(\d{1,2})/(\d{1,2})(?![\w/]|[.,]\d)", _month_slash_day, sign=r"\d/\d"),
    rule(r"(?<![\w.,])(\d{4})['’]?s\b", _decade, sign=r"\d['’]?s"),
    rule(r"(?<!\w)['’](\d{2})['’]?s\b", _decade, sign=r"\d['’]?s"),
    rule(r"(?<=\b(?:the|his|her) )(\d{2})['’]?s\b", _decade, sign=r"\d['’]?s"),
    rule(
        rf"{ALONE}(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})"
        r"(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?Z?)?(?![\w-])",
        _iso,
        sign=r"\d{4}-\d",
    ),
    rule(
        rf"{ALONE}(\d{{4}})([/.])(\d{{1,2}})\2(\d{{1,2}})(?![\w/]|\.\d)",
        lambda m: _date(int(m[1]), int(m[3]), int(m[4])),
        sign=r"\d{4}[/.]\d",
    ),
    rule(rf"{ALONE}(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}|\d{{2}})(?![\w/])", _slashed, sign=r"\d/\d"),
    rule(
        rf"{ALONE}(\d{{1,2}})\.(\d{{1,2}})\.((?:19|20)\d{{2}})(?![\w.]\w)",
        _dotted,
        sign=r"\d\.\d+\.\d",
    ),
    rule(
        rf"\b(Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b(?:\.|(,))(?=,?\s+(?:\d{{1,2}}\b|{_MONTH}))",
        _weekday,
        sign="Mon|Tue|Wed|Thu|Fri|Sat|Sun",
    ),
    rule(
        rf"\b{_MONTH}\s+(\d{{1,2}}){_TH}(?:\s?[-–—]\s?(\d{{1,2}}){_TH})?(?:,?\s+{_YEAR})?(?![\d:/%]|,\d|\.\d|\s?(?:[ap]\.?m\b|percent|million|people))",
        _month_day,
        sign=_MONTH_SIGN,
    ),
    rule(
        r"(?<![\w.,:/-])(?:((?i:the) ))?(?<!\d)"
        rf"(\d{{1,2}}){_TH}\s+(?:of\s+)?{_MONTH}\b(?:,?\s+{_YEAR})?",
        _day_month,
        sign=_MONTH_SIGN,
    ),
    rule(rf"\b{_MONTH},?\s+{_YEAR}", _month_year, sign=_MONTH_SIGN),
    rule(
        rf"{ALONE}(\d{{1,2}}):(\d{{2}})(?::(\d{{2}}))?{_HALF}?(?![\d:]|\.\d)", _time, sign=r"\d:\d"
    ),
    rule(
        rf"{ALONE}(\d{{1,2}})(?:\s?(?:-|–|—|to)\s?(\d{{1,2}}))?{_HALF}",
        _hours,
        sign=r"\d\s?[AaPp]\.?[Mm]",
    ),
    rule(rf"{ALONE}(\d+):(\d+)(?![\d:])", _ratio, sign=r"\d:\d"),
)
"""Dates and times."""

CODE_RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w.+])\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,5}(?!\w)", _phone, sign=r"\+\d"),
    rule(
        r"(?<![\w.-])(?:1[ .-])?(?:\(\d{3}\)\s?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])",
        _phone,
        sign=r"\d{3}[ .-]\d{4}",
    ),
    rule(r"(?<![\w.,-])\d{4}(?:[ -]\d{4}){3}(?![\w-])", _phone, sign=r"\d{4}[ -]\d{4}"),
    rule(r"(?<![\w.,-])\d{3}-\d{2}-\d{4}(?![\w-])", _phone, sign=r"\d-\d{2}-\d"),
    rule(r"(?<![\w.,$€£¥-])\d{3}-\d{4}(?![\w-])", _phone, sign=r"\d-\d{4}"),
    rule(
        rf"({_PHONE_WORD})(\d{{3,}}(?:[ -]\d{{2,}})*)(?![\w,.:/]\d|\w)", _after_word, sign=r"\d{3}"
    ),
    rule(r"(?<=\b[A-Z]{2} )()(\d{5}(?:-\d{4})?)(?![\w-])", _after_word, sign=r"\d{5}"),
    rule(r"(?<![\w.,$€£¥-])\d{10,}(?![\w.,]\d|\w)", _phone, sign=r"\d{10}"),
)
"""Numbers that are said digit by digit."""

YEAR_RULES: tuple[Rule, ...] = (
    rule(
        rf"{ALONE}(1[1-9]\d{{2}}|20\d{{2}})\s?[-–—]\s?(\d{{4}}|\d{{2}})(?![\w-]|[.,]\d)",
        _years,
        sign=r"\d{4}\s?[-–—]",
    ),
    rule(
        r"((?i:\b(?:in|since|from|until|till|by|before|after|during|year|circa|early|late|mid|"
        r"summer of|spring of|fall of|winter of|born|of|to|and|between|class of|AD|©))[\s-])"
        rf"(1\d{{3}}|20\d{{2}})(?![\w%°]|[.,:/-]\d){_NOT_YEARS}",
        _context_year,
        sign=r"\d{4}",
    ),
    rule(
        rf"{ALONE}(19\d{{2}}|20\d{{2}})(?![\w%°]|[.,:/]\d|\s?[-–+*×÷=/]\s?\d){_NOT_YEARS}",
        _year_alone,
        sign=r"\d{4}",
    ),
)
"""Years."""
