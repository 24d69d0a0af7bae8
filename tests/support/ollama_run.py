"""What `ollama run MODEL TEXT` prints to a pipe: a port of `displayResponse` (cmd/cmd.go).

Word wrap is on even where stdout is no terminal; the width is 80 then.
"""

from collections.abc import Iterable

WIDTH = 80


def printed(responses: Iterable[str], width: int = WIDTH) -> str:
    """Everything on stdout for these `response` fields, the two last line feeds included."""
    screen: list[str] = []
    line_length = 0
    word = ""
    for char in "".join(responses):
        if line_length + 1 > width - 5:
            if len(word) > width - 10:
                screen.append(word + char)  # a run without spaces is printed once more
                word, line_length = "", 0
                continue
            back = f"\x1b[{len(word)}D" if word else ""
            screen.append(f"{back}\x1b[K\n{word}{char}")
            line_length = len(word) + 1
            continue
        screen.append(char)
        line_length += 1
        if char in "\r\n":
            line_length = 0
        word = "" if char in " \t\r\n" else word + char
    return "".join(screen) + "\n\n"
