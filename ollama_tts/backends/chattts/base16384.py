"""Base16384: 7 bytes as 4 Chinese characters of 14 bits each, the spelling of speaker strings.

The last character, U+3D01 to U+3D06, tells how many bytes of the last group of 7 are meant.
"""

FIRST = 0x4E00
TAIL = 0x3D00
# bytes in the last group → characters it takes
TAIL_CHARS = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4}


def encode(data: bytes) -> str:
    """`data` in base16384."""
    rest = len(data) % 7
    padded = data + bytes(-len(data) % 7)
    chars = [_group(padded[i : i + 7]) for i in range(0, len(padded), 7)]
    if not rest:
        return "".join(chars)
    chars[-1] = chars[-1][: TAIL_CHARS[rest]]
    return "".join(chars) + chr(TAIL + rest)


def decode(text: str) -> bytes:
    """The bytes that `text` spells.

    Raises:
        ValueError: A character that base16384 does not use, or a length that cannot be.
    """
    rest = 0
    if text and TAIL < ord(text[-1]) < TAIL + 7:
        rest, text = ord(text[-1]) - TAIL, text[:-1]
    values = [ord(c) - FIRST for c in text]
    if not all(0 <= v < 1 << 14 for v in values):
        raise ValueError("not base16384")
    if len(values) % 4 != (TAIL_CHARS[rest] % 4 if rest else 0):
        raise ValueError("base16384 text is cut off")
    values += [0] * (-len(values) % 4)
    data = b"".join(_bytes(values[i : i + 4]) for i in range(0, len(values), 4))
    return data[: len(data) - 7 + rest] if rest else data


def _group(data: bytes) -> str:
    number = int.from_bytes(data, "big")
    return "".join(chr(FIRST + (number >> shift & 0x3FFF)) for shift in (42, 28, 14, 0))


def _bytes(values: list[int]) -> bytes:
    number = 0
    for value in values:
        number = number << 14 | value
    return number.to_bytes(7, "big")
