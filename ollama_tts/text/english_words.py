"""Abbreviations, Roman numerals, signs and names with digits in English words."""

import re

from ollama_tts.text.english_numbers import cardinal, digits, ordinal, pairs, spoken
from ollama_tts.text.rule import ALONE, NUMBER, Rule, rule

_ROMAN = r"(?=[IVXLCDM])(M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))\b"
_ROMAN_LONG = r"(?=[IVX]{2})(X{0,3}(?:IX|IV|V?I{0,3}))\b"
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_COUNTED = (
    "Chapter|Part|Section|Volume|Vol\\.|Act|Scene|Book|Article|Appendix|Type|Phase|Stage|Level|"
    "Class|Grade|War|Bowl|Fantasy|Rocky|Episode|Title|Unit|Lesson|Round|Table|Figure|Fig\\.|Mark|"
    "Schedule|Division|Category|Tier|Step|Group|Corps|Apollo|Saturn|Exhibit|Rule|Canto|Psalm|Civilization"
)
_RULERS = (
    "King|Queen|Pope|Emperor|Tsar|Henry|Louis|Elizabeth|Charles|George|James|William|Edward|"
    "Richard|Philip|Napoleon|Catherine|Peter|Paul|John|Francis|Frederick|Pius|Benedict|Gregory|"
    "Alexander|Ivan|Ramses|Leo|Urban|Innocent|Mary|Margaret|Nicholas|Ferdinand|Wilhelm|Cleopatra|"
    "Ptolemy|Darius|Xerxes|Mehmed|Selim|Carl|Gustav|Christian|Haakon|Harald|Albert|Leopold|Victor|"
    "Emmanuel|Robert|Malcolm|Clement|Sixtus|Julius|Rama|Naruhito|Vajiralongkorn|Robert|Otto"
)
_VERB = r"\s+(?:am|have|had|will|would|think|know|can|could|should|do|did|love|want|need|see|saw)\b"

_WORDS = {
    "mr.": "mister", "mrs.": "missus", "ms.": "miz", "prof.": "professor", "gen.": "general",
    "capt.": "captain", "lt.": "lieutenant", "sgt.": "sergeant", "col.": "colonel",
    "gov.": "governor", "sen.": "senator", "rep.": "representative", "rev.": "reverend",
    "hon.": "honorable", "mt.": "mount", "pres.": "president", "cmdr.": "commander",
    "adm.": "admiral", "maj.": "major", "messrs.": "messrs", "supt.": "superintendent",
}  # fmt: skip
_ANYWHERE = {
    "e.g.": "for example", "eg.": "for example", "i.e.": "that is", "ie.": "that is",
    "etc.": "et cetera", "vs.": "versus", "approx.": "approximately", "dept.": "department",
    "cf.": "compare", "viz.": "namely", "ca.": "circa", "et al.": "et al", "govt.": "government",
    "w/o": "without", "w/": "with", "b/c": "because", "incl.": "including", "excl.": "excluding",
    "misc.": "miscellaneous", "tel.": "telephone", "inc.": "incorporated", "ltd.": "limited",
    "corp.": "corporation", "bros.": "brothers", "jr.": "junior", "sr.": "senior",
    "est.": "established", "assn.": "association", "intl.": "international", "mfg.": "manufacturing",
    "apt.": "apartment", "ave.": "avenue", "blvd.": "boulevard", "hwy.": "highway",
    "max.": "maximum", "avg.": "average", "temp.": "temperature", "esp.": "especially",
    "asst.": "assistant", "univ.": "university", "dist.": "district", "acct.": "account",
}  # fmt: skip
_BEFORE_NUMBER = {
    "no.": "number", "nos.": "numbers", "nr.": "number", "p.": "page", "pp.": "pages",
    "vol.": "volume", "vols.": "volumes", "ch.": "chapter", "chap.": "chapter", "fig.": "figure",
    "figs.": "figures", "eq.": "equation", "sec.": "section", "art.": "article", "ver.": "version",
    "ext.": "extension", "rm.": "room", "pt.": "part", "par.": "paragraph", "no": "number",
}  # fmt: skip
_PLACES = {"st.": "street", "rd.": "road", "dr.": "drive", "ln.": "lane", "ft.": "fort", "sq.": "square", "ct.": "court", "pl.": "place", "pkwy.": "parkway"}
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        (
            "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi "
            "rho sigma tau upsilon phi chi psi omega"
        ).split(),
        strict=True,
    )
) | {"Δ": "delta", "Σ": "sigma", "Ω": "omega", "Π": "pi", "Θ": "theta", "Φ": "phi", "Ψ": "psi", "Λ": "lambda", "Γ": "gamma", "µ": "mu"}
_SIGNS = {
    "&": "and", "@": "at", "%": "percent", "=": "equals", "+": "plus", "×": "times", "÷": "divided by",
    "≈": "approximately equals", "≠": "is not equal to", "≤": "less than or equal to",
    "≥": "greater than or equal to", "±": "plus or minus", "√": "the square root of",
    "∞": "infinity", "→": "to", "←": "from", "↔": "and", "⇒": "implies", "$": "dollar", "€": "euro", "£": "pound",
    "¥": "yen", "₹": "rupee", "₩": "won", "₽": "ruble", "¢": "cent", "°": "degrees", "℃": "degrees Celsius", "℉": "degrees Fahrenheit",
    "№": "number", "§": "section", "‰": "per mille", "∑": "sum", "∫": "integral", "∂": "partial",
    "∈": "in", "∀": "for all", "∃": "there exists", "∧": "and", "∨": "or", "¬": "not", "∴": "therefore",
    "²": "squared", "³": "cubed", "^": "to the power of", "~": "about", "¹": "", "†": "", "‡": "", "¶": "", "∝": "is proportional to", "⊂": "is a subset of", "∪": "union", "∩": "intersection",
    "#": "hash", "<": "less than", ">": "greater than", "↑": "up", "↓": "down", "¿": "", "¡": "",
}  # fmt: skip


def roman(text: str) -> int:
    """The value of a Roman numeral."""
    total = 0
    for char, following in zip(text, [*text[1:], ""], strict=True):
        value = _ROMAN_VALUES[char]
        total += -value if value < _ROMAN_VALUES.get(following, 0) else value
    return total


def _counted(match: re.Match[str]) -> str | None:
    return f"{match[1]}{cardinal(roman(match[2]))}" if match[2] else None


def _ruler(match: re.Match[str]) -> str | None:
    return f"{match[1]}the {ordinal(roman(match[2]))}" if match[2] else None


def _century(match: re.Match[str]) -> str | None:
    return ordinal(roman(match[1])) + match[2] if match[1] else None


def _plain_roman(match: re.Match[str]) -> str | None:
    return f"{match[1]}{cardinal(roman(match[2]))}" if match[2] else None


def _title(match: re.Match[str]) -> str:
    return _WORDS[(match[1] or match[2]).lower() + "."]


def _doctor(match: re.Match[str]) -> str:
    return "doctor" if match[1] == "Dr" else "saint"


def _ends(match: re.Match[str]) -> bool:
    """Whether the abbreviation's point also ends the sentence."""
    return not match.string[match.end() :].strip("\"'”’)]} \n")


def _abbreviation(match: re.Match[str]) -> str:
    word = _ANYWHERE[match[0].lower()]
    return word + ("." if match[0].endswith(".") and _ends(match) else "")


def _place(match: re.Match[str]) -> str:
    return match[1] + _PLACES[match[2].lower() + "."] + ("." if _ends(match) else "")


def _company(match: re.Match[str]) -> str:
    return "company" + ("." if _ends(match) else "")


def _before_number(match: re.Match[str]) -> str:
    return _BEFORE_NUMBER[match[1].lower()] + " "


def _initials(match: re.Match[str]) -> str:
    """ "U.S." as letters; its last point stays where it ends the sentence."""
    letters = match[0].replace(".", "")
    return letters + ("." if match[0].endswith(".") and _ends(match) else "")


def _version(match: re.Match[str]) -> str:
    word = match[1] or ("version " if match[2] else "")
    parts = match[3].split(".")
    return word + " point ".join(spoken(part) for part in parts) + (f" {match[4]}" if match[4] else "")


def _network(match: re.Match[str]) -> str:
    return " dot ".join(cardinal(int(part)) if len(part) < 3 else digits(part) for part in match[0].split("."))


def _room(match: re.Match[str]) -> str:
    return match[1] + pairs(match[2])


def _range(match: re.Match[str]) -> str:
    return f"{spoken(match[1])} to {spoken(match[2])}"


def _minus(match: re.Match[str]) -> str:
    return "minus " + spoken(match[1])


def _power(match: re.Match[str]) -> str:
    exponent = match[2]
    head = match[1] if match[1].isalpha() else spoken(match[1])
    if exponent in ("2", "3"):
        return f"{head} {'squared' if exponent == '2' else 'cubed'}"
    return f"{head} to the power of {spoken(exponent)}"


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


def _house(match: re.Match[str]) -> str:
    return pairs(match[1]) + (f" {match[2]}" if match[2] else "")


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


def _sign(match: re.Match[str]) -> str:
    return f" {_SIGNS[match[0]]} " if _SIGNS[match[0]] else " "


def _operator(match: re.Match[str]) -> str:
    return {"-": " minus ", "−": " minus ", "*": " times ", "/": " over ", "<": " less than ",
            ">": " greater than ", "x": " times ", "·": " times "}[match[1]]  # fmt: skip


_STREET = "St|Ave|Rd|Blvd|Ln|Dr|Ct|Street|Avenue|Road|Boulevard|Lane|Drive|Court|Way|Place"
_TITLES = "|".join(key[:-1].capitalize() for key in _WORDS)
_CAPITAL = r"(?=\.?\s?[A-Z\u3400-\u9fff])"

WORD_RULES: tuple[Rule, ...] = (
    rule(rf"\b({_TITLES})()\.(?=\s?[A-Z\u3400-\u9fff])", _title, sign=r"[A-Z][a-z]+\."),
    rule(r"\b(Mr|Mrs|Ms)\b\.?(?=\s?\w)|\b(Prof)(?=\s[A-Z])", _title, sign="Mr|Ms|Prof"),
    rule(
        r"\b(Dr|St)\.?(?=\s?[A-Z])(?!\.?\s(?:The|It|He|She|We|They|In|On|At|This|That|Then|And|But)\b)",
        _doctor, sign="Dr|St",
    ),
    rule(r"(?<=[A-Za-z0-9])( )(St|Rd|Dr|Ln|Sq|Ct|Pl|Pkwy)\.", _place, sign=r"(?:St|Rd|Dr|Ln|Sq|Ct|Pl|Pkwy)\."),
    rule(r"()\b(Ft)\.(?=\s[A-Z])", _place, sign=r"Ft\."),
    rule(r"\b[Pp]h\.?\s?[Dd]\b\.?", lambda m: "PHD" + ("." if m[0].endswith(".") and _ends(m) else ""), sign="[Pp]h"),
    rule(
        r"(?<![\w.])(" + "|".join(re.escape(k) for k in _BEFORE_NUMBER if k.endswith(".")) + r"|No)\s?(?=\d|[IVX]+\b)",
        _before_number, flags=re.IGNORECASE, sign=r"\.|No",
    ),
    rule(
        r"(?<![\w.@])(?:" + "|".join(re.escape(k) for k in sorted(_ANYWHERE, key=len, reverse=True)) + r")(?![\w@])",
        _abbreviation, flags=re.IGNORECASE, sign=r"[./]",
    ),
    rule(r"(?<=[a-z] )Co\.(?!\w)|(?<=& )Co\.(?!\w)", _company, sign=r"Co\."),
    rule(r"(?<![\w.])(?:[A-Z]\.){2,}[A-Z]?(?!\w)|(?<![\w.])(?:a\.k\.a|p\.s|a\.m|p\.m)\.(?!\w)", lambda m: _initials(m).upper(), sign=r"\w\.\w"),
)  # fmt: skip
"""Abbreviations."""

EARLY_RULES: tuple[Rule, ...] = (
    rule(rf"\b([A-Za-z]|{NUMBER})\s?\^\s?([-−]?\d+)", _power, sign=r"\^"),
    rule(rf"\b(\d{{3,4}})([A-Z])?(?=\s(?:[NSEW]\.?\s)?(?:[A-Z][a-z]+\s){{1,3}}(?:{_STREET})\b)", _house),
)
"""What must be said before amounts are looked for: powers, house numbers."""

ROMAN_RULES: tuple[Rule, ...] = (
    rule(rf"\b((?:{_COUNTED})s? ){_ROMAN}", _counted, sign="[IVXLC]", flags=0),
    rule(rf"\b((?:{_RULERS}) )(?!I{_VERB}){_ROMAN}", _ruler, sign="[IVXLC]"),
    rule(rf"\b{_ROMAN}( (?:century|Century|centuries))", _century, sign="entur"),
    rule(rf"\b((?:[A-Z][a-z]+) ){_ROMAN_LONG}", _plain_roman, sign="[IVX]{2}"),
)
"""Roman numerals."""

NAME_RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?![\w.]\d|\w)", _network),
    rule(
        r"\b((?i:version|release|python|ios|android|ubuntu|macos|java|node|php|ruby|django|cuda|"
        r"pytorch|torch|chrome|firefox|debian|go|kernel|linux) )?(?<![\w.])([vV])?\.?(\d+(?:\.\d+)+)(?:[- ]?(alpha|beta|rc|dev)\b)?(?![\w]|\.\d)",
        lambda m: _version(m) if m[1] or m[2] or m[3].count(".") > 1 else None,
    ),
    rule(r"\b()([vV])(\d+)()\b", _version, sign=r"[vV]\d"),
    rule(
        r"((?i:\b(?:room|flight|route|highway|bus|apt|apartment|suite|gate|interstate|area code|"
        r"boeing|channel|error|http|status|building|studio|locker|platform) )(?:[A-Z]{2} ?)?)(\d{3,4})(?![\d%]|[.,]\d)",
        _room,
    ),
    rule(rf"(?<![\w.])#\s?({NUMBER})", _hash, sign="#"),
    rule(r"(?<![\w.,])(\d{3,4})([pi])\b", _lines, sign=r"\d[pi]"),
    rule(rf"({NUMBER})[eE]([-+]?\d+)\b", _scientific, sign=r"\d[eE]"),
    rule(r"(?<![\w.,])(\d+)\s?[x×]\s?(\d+)(?![\w.,]\d)", _by, sign=r"\d\s?[x×]"),
    rule(rf"{ALONE}({NUMBER})\s?(?:–|—|-|~|\bto\b)\s?({NUMBER})(?![\w-]|[.,]\d|\s?=)", lambda m: _range(m) if " - " not in m[0] or "=" not in m.string else None, sign=r"\d\s?[–—~-]"),
    rule(rf"(?<![\w.,)])[-−]({NUMBER})", _minus, sign="[-−]"),
    rule(r"(?<=\d)\s?([*/<>·−])\s?(?=\d)", _operator, sign="[*/<>·−]"),
    rule(r"(?<=[\d)])\s(-)\s(?=\d)", _operator, sign=" - "),
    rule(r"\b[A-Za-z]{1,8}-?\d+\.\d+\b(?!\.\d)", _mixed_name, sign=r"\d\.\d"),
    rule(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z]{0,12}(?:-?\d{1,5}-?[A-Za-z]{0,6}){1,3}\b|\b[A-Z][A-Za-z]*-\d{1,4}\b", _mixed_name, sign=r"[A-Za-z]-?\d|\d[A-Za-z]"),
    rule(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?", lambda m: spoken(m[0])),
)  # fmt: skip
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
    rule(r"[" + "".join(_GREEK) + r"](?![\u0370-\u03ff])(?<![\u0370-\u03ff][\u0370-\u03ff])", lambda m: f" {_GREEK[m[0]]} ", sign="[\u0370-\u03ffµ]"),
)  # fmt: skip
"""Signs that are left."""
