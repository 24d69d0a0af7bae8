"""Names with digits, arithmetic, and signs in English words."""

import re

from ollama_tts.text.english_numbers import cardinal, digits, pairs, spoken
from ollama_tts.text.rule import ALONE, NUMBER, Partly, Rule, rule
from ollama_tts.text.wordlist import listed

_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        listed(
            "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi "
            "rho sigma tau upsilon phi chi psi omega"
        ),
        strict=True,
    )
) | {
    "Δ": "delta",
    "Σ": "sigma",
    "Ω": "omega",
    "Π": "pi",
    "Θ": "theta",
    "Φ": "phi",
    "Ψ": "psi",
    "Λ": "lambda",
    "Γ": "gamma",
    "µ": "mu",
}
_SIGNS = {
    "&": "and",
    "@": "at",
    "%": "percent",
    "=": "equals",
    "+": "plus",
    "×": "times",
    "÷": "divided by",
    "≈": "approximately equals",
    "≠": "is not equal to",
    "≤": "less than or equal to",
    "≥": "greater than or equal to",
    "±": "plus or minus",
    "√": "the square root of",
    "∞": "infinity",
    "→": "to",
    "←": "from",
    "↔": "and",
    "⇒": "implies",
    "$": "dollar",
    "€": "euro",
    "£": "pound",
    "¥": "yen",
    "₹": "rupee",
    "₩": "won",
    "₽": "ruble",
    "¢": "cent",
    "°": "degrees",
    "℃": "degrees Celsius",
    "℉": "degrees Fahrenheit",
    "№": "number",
    "§": "section",
    "‰": "per mille",
    "∑": "sum",
    "∫": "integral",
    "∂": "partial",
    "∈": "in",
    "∀": "for all",
    "∃": "there exists",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "∴": "therefore",
    "²": "squared",
    "³": "cubed",
    "^": "to the power of",
    "~": "about",
    "¹": "",
    "†": "",
    "‡": "",
    "¶": "",
    "∝": "is proportional to",
    "⊂": "is a subset of",
    "∪": "union",
    "∩": "intersection",
    "#": "hash",
    "<": "less than",
    ">": "greater than",
    "↑": "up",
    "↓": "down",
    "¿": "",
    "¡": "",
}


def _version(match: re.Match[str]) -> str:
    word = match[1] or ("version " if match[2] else "")
    parts = match[3].split(".")
    return (
        word + " point ".join(spoken(part) for part in parts) + (f" {match[4]}" if match[4] else "")
    )


def _network(match: re.Match[str]) -> str:
    return " dot ".join(
        cardinal(int(part)) if len(part) < 3 else digits(part) for part in match[0].split(".")
    )


def _room(match: re.Match[str]) -> str:
    return match[1] + pairs(match[2])


def _range(match: re.Match[str]) -> str:
    return f"{spoken(match[1])} to {spoken(match[2])}"


def _minus(match: re.Match[str]) -> str:
    return "minus " + spoken(match[1])


def _scientific(match: re.Match[str]) -> str:
    return f"{spoken(match[1])} times ten to the {spoken(match[2].lstrip('+'))}"


def _by(match: re.Match[str]) -> str | None:
    """The sides of a screen or a beam; in a sum the sign is said "times"."""
    if "=" in match.string:
        return None
    sides = match[1], match[2]
    word = "by"
    said = [pairs(side) if len(side) == 4 and side[2:] != "00" else spoken(side) for side in sides]
    return f" {word} ".join(said)


def _lines(match: re.Match[str]) -> str:
    return f"{pairs(match[1])} {match[2].upper()}"


def _mixed_name(match: re.Match[str]) -> str:
    """A name of letters and digits: B2B "B two B", H2O, MP3, F-16, COVID-19."""
    parts = re.findall(r"[A-Za-z]+|\d+(?:\.\d+)?", match[0])
    said = []
    for part in parts:
        if part[0].isdigit():
            paired = part.isdigit() and len(part) in (3, 4)
            said.append(pairs(part) if paired else spoken(part))
        else:
            said.append(part)
    return " ".join(said)


def _hash(match: re.Match[str]) -> str:
    return f"number {spoken(match[1])}"


def _sign(match: re.Match[str]) -> str | Partly:
    words = _SIGNS[match[0]]
    return f" {words} " if words else Partly(" ", (match.span(),), "symbol")


def _operator(match: re.Match[str]) -> str:
    return {"-": " minus ", "−": " minus ", "*": " times ", "/": " over ", "<": " less than ",
            ">": " greater than ", "x": " times ", "·": " times "}[match[1]]  # fmt: skip


NAME_RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?![\w.]\d|\w)", _network, sign=r"\d\.\d+\.\d"),
    rule(
        r"\b((?i:version|release|python|ios|android|ubuntu|macos|java|node|php|ruby|django|cuda|"
        r"pytorch|torch|chrome|firefox|debian|go|kernel|linux) )?"
        r"(?<![\w.])([vV])?\.?(\d+(?:\.\d+)+)(?:[- ]?(alpha|beta|rc|dev)\b)?(?![\w]|\.\d)",
        lambda m: _version(m) if m[1] or m[2] or m[3].count(".") > 1 else None,
        sign=r"\d\.\d",
    ),
    rule(r"\b()([vV])(\d+)()\b", _version, sign=r"[vV]\d"),
    rule(
        r"((?i:\b(?:room|flight|route|highway|bus|apt|apartment|suite|gate|interstate|area code|"
        r"boeing|channel|error|http|status|building|studio|locker|platform) )"
        r"(?:[A-Z]{2} ?)?)(\d{3,4})(?![\d%]|[.,]\d)",
        _room,
        sign=r"[A-Za-z] \d{3}|[A-Z]\d{3}",
    ),
    rule(rf"(?<![\w.])#\s?({NUMBER})", _hash, sign="#"),
    rule(r"(?<![\w.,])(\d{3,4})([pi])\b", _lines, sign=r"\d[pi]"),
    rule(rf"({NUMBER})[eE]([-+]?\d+)\b", _scientific, sign=r"\d[eE]"),
    rule(r"(?<![\w.,])(\d+)\s?[x×]\s?(\d+)(?![\w.,]\d)", _by, sign=r"\d\s?[x×]"),
    rule(
        rf"{ALONE}({NUMBER})\s?(?:–|—|-|~|\bto\b)\s?({NUMBER})(?![\w-]|[.,]\d|\s?=)",
        lambda m: _range(m) if "-" not in m[0] or "=" not in m.string else None,
        sign=r"\d\s?[–—~-]",
    ),
    rule(rf"(?<![\w.,)])[-−]({NUMBER})", _minus, sign="[-−]"),
    rule(r"(?<=\d)\s?([*/<>·−])\s?(?=\d)", _operator, sign="[*/<>·−]"),
    rule(r"(?<=[\d)])\s?(-)\s?(?=\d)", _operator, sign="-"),
    rule(r"\b[A-Za-z]{1,8}-?\d+\.\d+\b(?!\.\d)", _mixed_name, sign=r"\d\.\d"),
    rule(
        r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z]{0,12}(?:-?\d{1,5}-?[A-Za-z]{0,6}){1,3}\b|\b[A-Z][A-Za-z]*-\d{1,4}\b",
        _mixed_name,
        sign=r"[A-Za-z]-?\d|\d[A-Za-z]",
    ),
    rule(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?", lambda m: spoken(m[0])),
)
"""Names with digits, arithmetic, and every number that is left."""

SIGN_RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w/.])/(?=[A-Za-z]\w)", lambda _: "slash ", sign="/"),
    rule(r"\b([A-Z])\+\+", lambda m: f"{m[1]} plus plus", sign=r"\+\+"),
    rule(r"\b([A-G])#", lambda m: f"{m[1]} sharp", sign="#"),
    rule(r"(?<!\w)#(?=[A-Za-z\u3400-\u9fff])", lambda _: "hashtag ", sign="#"),
    rule(r"(?<![\w])[~≈](?=\s?\w)", lambda _: "about ", sign="[~≈]"),
    rule(r"->|=>", lambda _: " to ", sign="[-=]>"),
    rule(r"\b([Aa])nd/or\b", lambda m: f"{m[1]}nd or", sign="/"),
    rule(r"\b([Hh]e)/she\b", lambda m: f"{m[1]} or she", sign="/"),
    rule(r"[" + re.escape("".join(_SIGNS)) + r"]", _sign, sign=None),
    rule(
        r"[" + "".join(_GREEK) + r"](?![\u0370-\u03ff])(?<![\u0370-\u03ff][\u0370-\u03ff])",
        lambda m: f" {_GREEK[m[0]]} ",
        sign="[\u0370-\u03ffµ]",
    ),
)
"""Signs that are left."""
