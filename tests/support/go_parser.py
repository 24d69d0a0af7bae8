"""Ollama's Modelfile parser (parser/parser.go), rune by rune as it is written in Go.

An oracle: slow, without `SET`, with none of our parser's code. Gives commands or an error's text.
"""

import re

COMMANDS = (
    "from", "license", "template", "system", "adapter", "draft", "renderer", "parser",
    "parameter", "message", "requires",
)  # fmt: skip
BAD_COMMAND = (
    'command must be one of "from", "license", "template", "system", "adapter", "draft", '
    '"renderer", "parser", "parameter", "message", or "requires"'
)
BAD_ROLE = 'message role must be one of "system", "user", or "assistant"'


class GoError(Exception):
    pass


class Machine:
    def __init__(self) -> None:
        self.state = "nil"
        self.buffer = ""
        self.line = 1
        self.name = ""
        self.role = ""
        self.commands: list[tuple[str, str]] = []

    def feed(self, rune: str) -> None:
        if rune in "\r\n":
            self.line += 1
        following, kept = self.next(rune)
        if following != self.state:
            if self.state == "value":
                text = unquote(self.buffer)
                if text is None or kept in {" ", "\t"}:
                    self.buffer += kept
                    return
                self.append(text)
            else:
                following = self.leave(following)
            self.buffer = ""
            self.state = following
        if kept.isprintable():
            self.buffer += kept

    def next(self, rune: str) -> tuple[str, str]:
        space, newline = rune in " \t", rune in "\r\n"
        if self.state == "nil":
            skipped = "comment" if rune == "#" else "nil" if space or newline else ""
            return (skipped, "") if skipped else ("name", rune)
        if self.state == "value":
            return ("nil" if newline or space else "value"), rune
        if self.state == "comment":
            return ("nil" if newline else "comment"), ""
        return self.next_in_word(rune)

    def next_in_word(self, rune: str) -> tuple[str, str]:
        if re.fullmatch("[A-Za-z0-9_]" if self.state == "parameter" else "[A-Za-z]", rune):
            return self.state, rune
        if rune in " \t":
            return "value", ""
        if self.state == "name":
            raise GoError(f"(line {self.line}): {BAD_COMMAND}")
        raise GoError(f"unexpected EOF: {self.buffer}")

    def leave(self, following: str) -> str:
        if self.state == "name":
            word = self.buffer.lower()
            if word not in COMMANDS:
                raise GoError(f"(line {self.line}): {BAD_COMMAND}")
            self.name = "model" if word == "from" else word
            return word if word in {"parameter", "message"} else following
        if self.state == "parameter":
            self.name = self.buffer
        if self.state == "message":
            if self.buffer not in {"system", "user", "assistant"}:
                raise GoError(f"(line {self.line}): {BAD_ROLE}")
            self.role = self.buffer
        return following

    def end(self) -> None:
        value = unquote(self.buffer) if self.state == "value" else None
        if value is not None:
            self.append(value)
        elif self.state not in {"nil", "comment"}:
            raise GoError("unexpected EOF")

    def append(self, text: str) -> None:
        if self.role:
            text = f"{self.role}: {text}"
            self.role = ""
        self.commands.append((self.name, text))


def unquote(buffer: str) -> str | None:
    text = buffer.strip(" \t\r\n")
    if text.startswith('"""'):
        return text[3:-3] if len(text) >= 6 and text.endswith('"""') else None
    if text.startswith('"'):
        return text[1:-1] if len(text) >= 2 and text.endswith('"') else None
    return text


def go_parse(text: str) -> list[tuple[str, str]] | str:
    """The commands as (name, args), or the text of the error."""
    machine = Machine()
    try:
        for rune in text:
            machine.feed(rune)
        machine.end()
    except GoError as error:
        return str(error)
    if not any(name == "model" for name, _ in machine.commands):
        return "no FROM line"
    return machine.commands
