"""Numbers in Chinese characters as they are said."""

DIGITS = "零一二三四五六七八九"
_PLACES = ("", "十", "百", "千")
_SCALES = ("", "万", "亿", "万亿")
_LONGEST = 16


def digits(text: str) -> str:
    """Each digit of `text` by its name; other characters are left out."""
    return "".join(DIGITS[int(char)] for char in text if char.isdecimal())


def phone(text: str) -> str:
    """Each digit of a telephone number, 1 said 幺."""
    return digits(text).replace("一", "幺")


def cardinal(number: int) -> str:
    """`number` in characters: 10 十, 105 一百零五, 20000 两万; long ones digit by digit."""
    text = str(number)
    if len(text) > _LONGEST:
        return digits(text)
    if number == 0:
        return "零"
    out = ""
    gap = False
    for scale in reversed(range(len(_SCALES))):
        group = number // 10000**scale % 10000
        if not group:
            gap = bool(out)
            continue
        if out and (gap or group < 1000):
            out += "零"
        out += _group(group, scale, first=not out) + _SCALES[scale]
        gap = False
    return out.removeprefix("一") if out.startswith("一十") else out


def _group(number: int, scale: int, *, first: bool) -> str:
    """A number under ten thousand in front of `_SCALES[scale]`."""
    if number == 2 and scale and first:
        return "两"
    out = ""
    gap = False
    for place in (3, 2, 1, 0):
        digit = number // 10**place % 10
        if digit == 0:
            gap = gap or bool(out)
            continue
        if gap:
            out += "零"
        gap = False
        leading = first and not out and digit == 2 and place == 3
        out += ("两" if leading else DIGITS[digit]) + _PLACES[place]
    return out


def spoken(text: str) -> str:
    """A written number: grouping commas, decimals, leading zeros and a sign allowed."""
    if text[:1] in "-−":
        return "负" + spoken(text[1:])
    text = text.lstrip("+").replace(",", "")
    whole, point, fraction = text.partition(".")
    if not point:
        by_digit = len(whole) > _LONGEST or (len(whole) > 1 and whole.startswith("0"))
        return digits(whole) if by_digit else cardinal(int(whole))
    return f"{cardinal(int(whole or '0'))}点{digits(fraction)}"


def counted(text: str) -> str:
    """A written number in front of a measure word: 2 is 两."""
    return "两" if text == "2" else spoken(text)


def scaled(text: str, factor: int) -> str | None:
    """A written number times `factor` exactly, in 万 and 亿: 3.5 million is 三百五十万."""
    whole, _, fraction = text.replace(",", "").partition(".")
    if len(fraction) > 12 or len(whole) > 12:
        return None
    value, rest = divmod(int(whole + fraction) * factor, 10 ** len(fraction))
    if rest:
        return None
    return cardinal(value)
