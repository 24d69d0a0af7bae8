"""Money, percent, measures, fractions and scale words in English."""

import re

from ollama_tts.text.english_numbers import cardinal, fraction, ordinal, spoken
from ollama_tts.text.rule import NUMBER, Rule, rule
from ollama_tts.text.units import PER, TIGHT, UNITS, alternatives

_SIGNS = {
    "$": ("dollar", "cent"), "US$": ("U.S. dollar", "cent"), "A$": ("Australian dollar", "cent"),
    "C$": ("Canadian dollar", "cent"), "CA$": ("Canadian dollar", "cent"),
    "HK$": ("Hong Kong dollar", "cent"), "NT$": ("Taiwan dollar", "cent"),
    "S$": ("Singapore dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "penny"),
    "¥": ("yen", ""), "￥": ("yen", ""), "₹": ("rupee", "paisa"), "₩": ("won", ""),
    "₽": ("ruble", "kopeck"), "₿": ("bitcoin", ""), "R$": ("real", "centavo"),
}  # fmt: skip
_CODES = {
    "USD": "U.S. dollar", "EUR": "euro", "GBP": "pound", "JPY": "yen", "CNY": "yuan",
    "RMB": "yuan", "CHF": "Swiss franc", "AUD": "Australian dollar", "CAD": "Canadian dollar",
    "HKD": "Hong Kong dollar", "INR": "rupee", "KRW": "won", "SGD": "Singapore dollar",
    "BTC": "bitcoin",
}  # fmt: skip
_SCALES = {
    "thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion",
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million",
    "mm": "million", "MM": "million", "b": "billion", "B": "billion", "bn": "billion",
    "Bn": "billion", "T": "trillion", "tn": "trillion", "trn": "trillion", "mio": "million",
    "mil": "million",
}  # fmt: skip
_SAME = frozenset({"yen", "won", "yuan"})
_MANY = {"penny": "pence", "paisa": "paise"}
_SIGN = "(" + alternatives(_SIGNS) + ")"
_CODE = "(" + "|".join(_CODES) + ")"
_SCALE = rf"(?:\s?({alternatives(_SCALES)})\b)?"
_SUM = rf"({NUMBER}|\.\d+)"
_PER = rf"(?:\s?/\s?({alternatives(PER)})\b(?!\w))?"
_TO = r"\s?(?:-|–|—|~|to)\s?"
_UNIT = rf"({alternatives(UNITS)})(?![\w²³])"
_FRACTION_SIGNS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5),
    "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8),
    "⅞": (7, 8),
}  # fmt: skip
_ADJECTIVE = re.compile(r"\b(?:a|an|another|one) $", re.IGNORECASE)
_NOUN = re.compile(
    r"\s+(?!in\b|on\b|of\b|or\b|and\b|for\b|to\b|per\b|a\b|an\b|at\b|by\b|from\b|is\b|was\b|with\b|"
    r"as\b|each\b|every\b|more\b|less\b|off\b|the\b|if\b|but\b|when\b|ago\b|so\b)[a-z]"
)


def _name(one: str, number: str, scale: str | None = None) -> str:
    if one in _SAME or (number in ("1", "1.0") and not scale):
        return one
    return _MANY.get(one, one + "s")


def _adjective(match: re.Match[str]) -> bool:
    """Whether an amount stands in front of its noun: "a $5 bill"."""
    before = match.string[: match.start()]
    return bool(_ADJECTIVE.search(before) and _NOUN.match(match.string, match.end()))


def _amount(number: str, scale: str | None, names: tuple[str, str]) -> str:
    one, small = names
    whole, _, cents = number.replace(",", "").partition(".")
    if scale or len(cents) != 2 or not small:
        said = spoken(number)
        if scale:
            said += f" {_SCALES[scale]}"
        return f"{said} {_name(one, number, scale)}"
    parts = []
    if whole and int(whole):
        parts.append(f"{cardinal(int(whole))} {_name(one, str(int(whole)))}")
    if int(cents):
        parts.append(f"{cardinal(int(cents))} {_name(small, str(int(cents)))}")
    return " and ".join(parts) if parts else f"zero {_name(one, '0')}"


def _money(match: re.Match[str]) -> str:
    minus = "minus " if match[1] else ""
    names = _SIGNS[match[2]]
    said = _amount(match[3], match[4], names)
    if _adjective(match):
        one, _ = names
        said = said.removesuffix(_name(one, match[3], match[4])) + one
    return minus + said + _per(match[5])


def _per(unit: str | None) -> str:
    return f" per {PER[unit][0]}" if unit else ""


def _money_range(match: re.Match[str]) -> str:
    low = spoken(match[2]) + (f" {_SCALES[match[3]]}" if match[3] else "")
    return f"{low} to {_amount(match[4], match[5], _SIGNS[match[1]])}"


def _money_behind(match: re.Match[str]) -> str:
    return _amount(match[1], match[2], _SIGNS[match[3]])


def _code_behind(match: re.Match[str]) -> str:
    return _amount(match[1], match[2], (_CODES[match[3]], ""))


def _code_before(match: re.Match[str]) -> str:
    return _amount(match[2], match[3], (_CODES[match[1]], ""))


def _cents(match: re.Match[str]) -> str:
    return f"{spoken(match[1])} {_name('cent', match[1])}"


def _percent(match: re.Match[str]) -> str:
    low = f"{_signed(match[1])} to " if match[1] else ""
    return f"{low}{_signed(match[2])} {'per mille' if match[3] == '‰' else 'percent'}"


def _signed(number: str) -> str:
    if number[0] in "+±~≈<>":
        word = {"+": "plus", "±": "plus or minus", "~": "about", "≈": "about",
                "<": "less than", ">": "more than"}[number[0]]  # fmt: skip
        return f"{word} {spoken(number[1:].lstrip())}"
    return spoken(number)


def _degrees(match: re.Match[str]) -> str:
    low, number, scale, sign, side = match.groups()
    name = {
        "C": " Celsius",
        "F": " Fahrenheit",
        "K": " Kelvin",
        "℃": " Celsius",
        "℉": " Fahrenheit",
    }
    where = {"N": " north", "S": " south", "E": " east", "W": " west"}
    tail = name.get(scale or sign or "", "") + where.get(side or "", "")
    head = f"{_signed(low)} to " if low else ""
    return f"{head}{_signed(number)} {'degree' if number in ('1', '-1') else 'degrees'}{tail}"


def _measure(match: re.Match[str]) -> str | None:
    low, number, space, name, per = match[1], match[2], match[3], match[4], match[5]
    if space and name in TIGHT and "." not in number:
        return None
    unit = UNITS[name]
    single = number == "1" and not low
    said = f"{spoken(low)} to {_signed(number)}" if low else _signed(number)
    word = unit.one if single else unit.many
    if _ADJECTIVE.search(match.string[: match.start()]) and _NOUN.match(match.string, match.end()):
        word = unit.one
    return f"{said} {word}{_per(per)}"


def _feet(match: re.Match[str]) -> str:
    inches = f" {cardinal(int(match[2]))}" if match[2] else ""
    return (
        f"{cardinal(int(match[1]))} foot{inches}" if inches else f"{cardinal(int(match[1]))} feet"
    )


def _scaled(match: re.Match[str]) -> str | None:
    number, letter = match[1], match[2]
    if letter == "K" and number in ("2", "4", "5", "8"):
        return None
    if letter == "B" and "." not in number:
        return None
    return f"{spoken(number)} {_SCALES[letter]}{match[3] or ''}"


def _mixed(match: re.Match[str]) -> str | None:
    whole, over, under = match[1], int(match[2]), int(match[3])
    if under == 0 or over >= under:
        return None
    name = fraction(over, under)
    if name is None:
        return None
    if whole is None:
        return name
    head = cardinal(int(whole))
    if over == 1 and under in (2, 4):
        return f"{head} and a {'half' if under == 2 else 'quarter'}"
    return f"{head} and {name}"


def _fraction_sign(match: re.Match[str]) -> str:
    over, under = _FRACTION_SIGNS[match[2]]
    name = fraction(over, under) or ""
    if not match[1]:
        return name
    if over == 1 and under in (2, 4):
        name = "a half" if under == 2 else "a quarter"
    return f"{cardinal(int(match[1]))} and {name}"


def _out_of(match: re.Match[str]) -> str | None:
    over, under = int(match[2]), int(match[3])
    if (over, under) in ((24, 7), (9, 11), (50, 50)):
        return f"{cardinal(over)} {cardinal(under)}"
    if under in (10, 100) and over <= under:
        return f"{cardinal(over)} out of {cardinal(under)}"
    name = fraction(over, under) if 0 < over < under else None
    return name or f"{cardinal(over)} over {cardinal(under)}"


def _slash(match: re.Match[str]) -> str | None:
    return _mixed(match) if match[1] else _out_of(match)


def _ordinal(match: re.Match[str]) -> str:
    return ordinal(int(match[1].replace(",", "")))


def _times(match: re.Match[str]) -> str:
    return f"{spoken(match[1])} times"


AMOUNT_RULES: tuple[Rule, ...] = (
    rule(
        rf"(?<!\w){_SIGN}\s?{_SUM}{_SCALE}{_TO}(?:{alternatives(_SIGNS)})?{_SUM}{_SCALE}(?![\d%])",
        _money_range,
        sign=r"[$€£¥￥₹₩₽₿]",
    ),
    rule(rf"(?<!\w)(-)?{_SIGN}\s?{_SUM}{_SCALE}{_PER}", _money, sign=r"[$€£¥￥₹₩₽₿]"),
    rule(rf"(?<![\w.,]){_SUM}{_SCALE}\s?([€£¥￥₹₩₽₿$])(?!\d)", _money_behind, sign=r"[$€£¥￥₹₩₽₿]"),
    rule(rf"(?<![\w.,]){_SUM}{_SCALE}\s?{_CODE}\b", _code_behind, sign="[A-Z]{3}"),
    rule(rf"\b{_CODE}\s?{_SUM}{_SCALE}", _code_before, sign="[A-Z]{3}"),
    rule(rf"(?<![\w.,]){_SUM}\s?¢", _cents, sign="¢"),
    rule(
        rf"(?<![\w.,])(?:([-+]?{NUMBER})\s?[%‰]?{_TO})?([-−+±~≈<>]?\s?(?:{NUMBER}|\.\d+))\s?([%‰])",
        _percent,
        sign="[%‰]",
    ),
    rule(
        rf"(?<![\w.,])(?:([-−]?{NUMBER})\s?°?[CF]?{_TO})?([-−+±~]?{NUMBER})\s?"
        r"(?:°(?:\s?([CFK])\b)?|([℃℉]))(?:\s?([NSEW])\b)?",
        _degrees,
        sign="[°℃℉]",
    ),
    rule(r"(?<![\w.,])(\d{1,2})['′]\s?(\d{1,2})?(?:[\"″]|'')", _feet, sign="['′]"),
    rule(
        rf"(?<![\w.,])(?:({NUMBER}){_TO})?([-−+±~<>]?{NUMBER})([\s-]?){_UNIT}{_PER}",
        _measure,
        sign=r"\d[\s-]?[A-Za-zµΩ]",
    ),
    rule(rf"(?<![\w.,])({NUMBER})(k|K|M|bn|mn|B)(\+)?(?![\w])", _scaled, sign=r"\d[kKMbmB]"),
    rule(
        r"(?<![\w.,/])(?:(\d+)(?:\s|-|\s?&\s?|\s?and\s))?(\d{1,3})/(\d{1,4})(?![\w/]|[.,]\d)",
        _slash,
        sign=r"\d/\d",
    ),
    rule(rf"(?:(?<![\w.,])(\d+)\s?)?([{''.join(_FRACTION_SIGNS)}])", _fraction_sign, sign=None),
    rule(
        r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th|ST|ND|RD|TH)\b",
        _ordinal,
        sign=r"\d(?:[snrt][tdh]|[SNRT][TDH])",
    ),
    rule(rf"(?<![\w.,])({NUMBER})(?:x|\s?×)(?![\w]|\s?\d)", _times, sign=r"\d\s?[x×]"),
)
"""Money, percent, degrees, measures, fractions, ordinals."""
