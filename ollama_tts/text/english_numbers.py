"""Numbers in English words, without hyphens: 21 is "twenty one"."""

from ollama_tts.text.wordlist import listed

ONES = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
TENS = listed("zero ten twenty thirty forty fifty sixty seventy eighty ninety")
_SCALES = ("", "thousand", "million", "billion", "trillion", "quadrillion")
_LONGEST = 15
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def digits(text: str) -> str:
    """Each digit of `text` by its name; other characters are left out."""
    return " ".join(ONES[int(char)] for char in text if char.isdecimal())


def cardinal(number: int) -> str:
    """`number` in words; digit by digit from a quadrillion on."""
    if len(str(number)) > _LONGEST:
        return digits(str(number))
    if number == 0:
        return ONES[0]
    words: list[str] = []
    for scale in reversed(range(len(_SCALES))):
        group = number // 1000**scale % 1000
        if group:
            words += [*_below_thousand(group), _SCALES[scale]]
    return " ".join(word for word in words if word)


def _below_thousand(number: int) -> list[str]:
    words = [ONES[number // 100], "hundred"] if number >= 100 else []
    rest = number % 100
    if rest >= 20:
        words.append(TENS[rest // 10])
        rest %= 10
    if rest:
        words.append(ONES[rest])
    return words


def ordinal(number: int) -> str:
    """`number` as an ordinal in words: 21 is "twenty first"."""
    head, _, last = cardinal(number).rpartition(" ")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return f"{head} {last}".strip()


def spoken(text: str) -> str:
    """A written number in words: grouping commas, decimals, leading zeros and a sign allowed."""
    if text[:1] in "-−":
        return "minus " + spoken(text[1:])
    text = text.lstrip("+").replace(",", "")
    whole, point, fraction = text.partition(".")
    if not point:
        by_digit = len(whole) > _LONGEST or (len(whole) > 1 and whole.startswith("0"))
        return digits(whole) if by_digit else cardinal(int(whole))
    head = f"{cardinal(int(whole))} " if whole else ""
    return f"{head}point {digits(fraction)}"


def year(number: int) -> str:
    """A year as it is said: 1999 "nineteen ninety nine", 2005 "two thousand five"."""
    high, low = divmod(number, 100)
    if not 1000 <= number <= 9999 or 2000 <= number <= 2009 or number % 1000 == 0:
        return cardinal(number)
    if low == 0:
        return f"{cardinal(high)} hundred"
    return f"{cardinal(high)} {'oh ' if low < 10 else ''}{cardinal(low)}"


def pairs(text: str) -> str:
    """A room, flight or house number: 302 "three oh two", 1250 "twelve fifty"."""
    if text.startswith("0") or len(text) > 4:
        return digits(text)
    if len(text) < 3:
        return cardinal(int(text))
    high, low = text[:-2], text[-2:]
    if low == "00":
        return f"{cardinal(int(high))} hundred"
    tail = f"oh {ONES[int(low)]}" if low[0] == "0" else cardinal(int(low))
    return f"{cardinal(int(high))} {tail}"


def plural(word: str) -> str:
    """The plural of a number word: "ninety" "nineties", "six" "sixes"."""
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("x", "s")) else "s")


def fraction(over: int, under: int) -> str | None:
    """`over`/`under` as it is said, or None where it is said "over"."""
    if under == 2:
        return "one half" if over == 1 else f"{cardinal(over)} halves"
    if under == 4:
        return "one quarter" if over == 1 else f"{cardinal(over)} quarters"
    if 3 <= under <= 20 or under in (32, 64, 100, 1000):
        name = ordinal(under)
        return f"{cardinal(over)} {name}" + ("" if over == 1 else "s")
    return None
