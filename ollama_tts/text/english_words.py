"""Abbreviations, Roman numerals, signs and names with digits in English words."""

import re

from ollama_tts.text.english_numbers import cardinal, ordinal, pairs, spoken
from ollama_tts.text.rule import NUMBER, Rule, rule

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
    "mr.": "mister",
    "mrs.": "missus",
    "ms.": "miz",
    "prof.": "professor",
    "gen.": "general",
    "capt.": "captain",
    "lt.": "lieutenant",
    "sgt.": "sergeant",
    "col.": "colonel",
    "gov.": "governor",
    "sen.": "senator",
    "rep.": "representative",
    "rev.": "reverend",
    "hon.": "honorable",
    "mt.": "mount",
    "pres.": "president",
    "cmdr.": "commander",
    "adm.": "admiral",
    "maj.": "major",
    "messrs.": "messrs",
    "supt.": "superintendent",
}
_ANYWHERE = {
    "e.g.": "for example",
    "eg.": "for example",
    "i.e.": "that is",
    "ie.": "that is",
    "etc.": "et cetera",
    "vs.": "versus",
    "approx.": "approximately",
    "dept.": "department",
    "cf.": "compare",
    "viz.": "namely",
    "ca.": "circa",
    "et al.": "et al",
    "govt.": "government",
    "w/o": "without",
    "w/": "with",
    "b/c": "because",
    "incl.": "including",
    "excl.": "excluding",
    "misc.": "miscellaneous",
    "tel.": "telephone",
    "inc.": "incorporated",
    "ltd.": "limited",
    "corp.": "corporation",
    "bros.": "brothers",
    "jr.": "junior",
    "sr.": "senior",
    "est.": "established",
    "assn.": "association",
    "intl.": "international",
    "mfg.": "manufacturing",
    "apt.": "apartment",
    "ave.": "avenue",
    "blvd.": "boulevard",
    "hwy.": "highway",
    "max.": "maximum",
    "avg.": "average",
    "temp.": "temperature",
    "esp.": "especially",
    "asst.": "assistant",
    "univ.": "university",
    "dist.": "district",
    "acct.": "account",
}
_BEFORE_NUMBER = {
    "no.": "number",
    "nos.": "numbers",
    "nr.": "number",
    "p.": "page",
    "pp.": "pages",
    "vol.": "volume",
    "vols.": "volumes",
    "ch.": "chapter",
    "chap.": "chapter",
    "fig.": "figure",
    "figs.": "figures",
    "eq.": "equation",
    "sec.": "section",
    "art.": "article",
    "ver.": "version",
    "ext.": "extension",
    "rm.": "room",
    "pt.": "part",
    "par.": "paragraph",
    "no": "number",
}
_PLACES = {
    "st.": "street",
    "rd.": "road",
    "dr.": "drive",
    "ln.": "lane",
    "ft.": "fort",
    "sq.": "square",
    "ct.": "court",
    "pl.": "place",
    "pkwy.": "parkway",
}


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


def _abbreviation(match: re.Match[str]) -> str | None:
    if match[0].isupper() and len(match[0]) > 3:
        return None  # "EST." is a time zone
    word = _ANYWHERE[match[0].lower()]
    return word + ("." if match[0].endswith(".") and _ends(match) else "")


def _place(match: re.Match[str]) -> str:
    return match[1] + _PLACES[match[2].lower() + "."] + ("." if _ends(match) else "")


def _company(match: re.Match[str]) -> str:
    return "company" + ("." if _ends(match) else "")


def _before_number(match: re.Match[str]) -> str:
    return _BEFORE_NUMBER[match[1].lower()] + " "


def _initials(match: re.Match[str]) -> str:
    """The letters of "U.S."; its last point stays where it ends the sentence."""
    letters = match[0].replace(".", "")
    return letters + ("." if match[0].endswith(".") and _ends(match) else "")


def _power(match: re.Match[str]) -> str:
    exponent = match[2]
    head = match[1] if match[1].isalpha() else spoken(match[1])
    if exponent in ("2", "3"):
        return f"{head} {'squared' if exponent == '2' else 'cubed'}"
    return f"{head} to the power of {spoken(exponent)}"


def _house(match: re.Match[str]) -> str:
    return pairs(match[1]) + (f" {match[2]}" if match[2] else "")


_STREET = "St|Ave|Rd|Blvd|Ln|Dr|Ct|Street|Avenue|Road|Boulevard|Lane|Drive|Court|Way|Place"
_TITLES = "|".join(key[:-1].capitalize() for key in _WORDS)
_CAPITAL = r"(?=\.?\s?[A-Z\u3400-\u9fff])"

WORD_RULES: tuple[Rule, ...] = (
    rule(rf"\b({_TITLES})()\.(?=\s?[A-Z\u3400-\u9fff])", _title, sign=r"[A-Z][a-z]+\."),
    rule(r"\b(Mr|Mrs|Ms)\b\.?(?=\s?\w)|\b(Prof)(?=\s[A-Z])", _title, sign="Mr|Ms|Prof"),
    rule(
        r"\b(Dr|St)\.?(?=\s?[A-Z])(?!\.?\s(?:The|It|He|She|We|They|In|On|At|This|That|Then|And|But)\b)",
        _doctor,
        sign="Dr|St",
    ),
    rule(
        r"(?<=[A-Za-z0-9])( )(St|Rd|Dr|Ln|Sq|Ct|Pl|Pkwy)\.",
        _place,
        sign=r"(?:St|Rd|Dr|Ln|Sq|Ct|Pl|Pkwy)\.",
    ),
    rule(r"()\b(Ft)\.(?=\s[A-Z])", _place, sign=r"Ft\."),
    rule(
        r"\b[Pp]h\.?\s?[Dd]\b\.?",
        lambda m: "PHD" + ("." if m[0].endswith(".") and _ends(m) else ""),
        sign="[Pp]h",
    ),
    rule(
        r"(?<![\w.])("
        + "|".join(re.escape(k) for k in _BEFORE_NUMBER if k.endswith("."))
        + r"|No)\s?(?=\d|[IVX]{2,}\b)",
        _before_number,
        flags=re.IGNORECASE,
        sign=r"\.|No",
    ),
    rule(
        r"(?<![\w.@])(?:"
        + "|".join(re.escape(k) for k in sorted(_ANYWHERE, key=len, reverse=True))
        + r")(?![\w@])",
        _abbreviation,
        flags=re.IGNORECASE,
        sign=r"[./]",
    ),
    rule(r"(?<=[a-z] )Co\.(?!\w)|(?<=& )Co\.(?!\w)", _company, sign=r"Co\."),
    rule(
        r"(?<![\w.])(?:[A-Z]\.){2,}[A-Z]?(?!\w)|(?<![\w.])(?:a\.k\.a|p\.s|a\.m|p\.m)\.(?!\w)",
        lambda m: _initials(m).upper(),
        sign=r"\w\.\w",
    ),
)
"""Abbreviations."""

EARLY_RULES: tuple[Rule, ...] = (
    rule(rf"\b([A-Za-z]|{NUMBER})\s?\^\s?([-−]?\d+)", _power, sign=r"\^"),
    rule(
        rf"\b(\d{{3,4}})([A-Z])?(?=\s(?:[NSEW]\.?\s)?(?:[A-Z][a-z]+\s){{1,3}}(?:{_STREET})\b)",
        _house,
    ),
)
"""What must be said before amounts are looked for: powers, house numbers."""

ROMAN_RULES: tuple[Rule, ...] = (
    rule(rf"\b((?:{_COUNTED})s? ){_ROMAN}", _counted, sign="[IVXLC]", flags=0),
    rule(rf"\b((?:{_RULERS}) )(?!I{_VERB}){_ROMAN}", _ruler, sign="[IVXLC]"),
    rule(rf"\b{_ROMAN}( (?:century|Century|centuries))", _century, sign="entur"),
    rule(rf"\b((?:[A-Z][a-z]+) ){_ROMAN_LONG}", _plain_roman, sign="[IVX]{2}"),
)
"""Roman numerals."""
