"""The grammar of Modelfiles: Ollama's (parser/parser.go), rune for rune, plus `SET`.

Quotes close at the end of a line only, nothing escapes anything, and runes that cannot be
printed are dropped. `SET name value` is `PARAMETER name value`. Every rune is looked at once.
"""

import codecs
import re
from dataclasses import dataclass, field

from ollama_tts.errors import InvalidModelfile, TooLarge

MAX_MODELFILE_BYTES = 4 * 1024 * 1024
ROLES = ("system", "user", "assistant")
INSTRUCTIONS = (
    "from", "license", "template", "system", "adapter", "draft", "renderer", "parser",
    "parameter", "message", "requires",
)  # fmt: skip
TYPED = ("parameter", "set")

_BAD_COMMAND = (
    'command must be one of "from", "license", "template", "system", "adapter", "draft", '
    '"renderer", "parser", "parameter", "message", or "requires"'
)
_BAD_ROLE = 'message role must be one of "system", "user", or "assistant"'
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BLANKS = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"#[^\r\n]*")
_LETTERS = re.compile(r"[A-Za-z]*")
_PARAMETER_NAME = re.compile(r"[A-Za-z0-9_]*")
_LINE = re.compile(r"[^\r\n]*")
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Command:
    """One instruction: FROM is `model`, PARAMETER its own name, MESSAGE `message` (`role: text`).

    `line` is where it stands, 1-based; commands compare without it.
    """

    name: str
    args: str
    line: int = field(default=0, compare=False)


def parse(text: str | bytes) -> list[Command]:
    """The commands of a Modelfile, in order.

    Bytes are UTF-8, or UTF-16 with a byte order mark.

    Raises:
        InvalidModelfile: With Ollama's text, the line, and what was read there.
        TooLarge: More than 4 MiB.
    """
    if len(text) > MAX_MODELFILE_BYTES:
        raise TooLarge(f"a Modelfile may have {MAX_MODELFILE_BYTES} bytes, not {len(text)}")
    reader = _Reader(text.removeprefix("\ufeff") if isinstance(text, str) else _decode(text))
    commands: list[Command] = []
    while (command := reader.command()) is not None:
        commands.append(command)
    if not any(command.name == "model" for command in commands):
        raise InvalidModelfile("no FROM line", detail="name a model to start from: FROM hibari")
    return commands


def _decode(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return data.decode("utf-8", "replace")


class _Reader:
    """A place in the text. Each method takes what it names and moves on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._line_start = 0

    def command(self) -> Command | None:
        """The next command; None at the end."""
        self._skip_blanks_and_comments()
        if self._at == len(self._text):
            return None
        line = self._true_line()
        word = self._instruction()
        if word in TYPED:
            name = self._word(_PARAMETER_NAME, f"{word.upper()} is followed by a name and a value")
            return Command(name, self._value(), line)
        if word == "message":
            return Command("message", f"{self._role()}: {self._value()}", line)
        return Command("model" if word == "from" else word, self._value(), line)

    def _skip_blanks_and_comments(self) -> None:
        self._take(_BLANKS)
        while self._text.startswith("#", self._at):
            self._take(_COMMENT)
            self._take(_BLANKS)

    def _instruction(self) -> str:
        """The instruction word and the blank behind it."""
        first = self._text[self._at]
        self._at += 1
        word = (first if first.isprintable() else "") + self._take(_LETTERS)
        if self._at == len(self._text):
            raise self._ended(word)
        if word.lower() not in (*INSTRUCTIONS, "set") or self._text[self._at] not in " \t":
            raise self._refused(_BAD_COMMAND, word)
        self._at += 1
        return word.lower()

    def _role(self) -> str:
        role = self._word(_LETTERS, "MESSAGE is followed by a role and a text")
        if role not in ROLES:
            self._at -= 1
            raise self._refused(_BAD_ROLE, role)
        return role

    def _word(self, pattern: re.Pattern[str], usage: str) -> str:
        """A parameter's name or a role, and the blank behind it."""
        word = self._take(pattern)
        if self._at == len(self._text):
            raise self._ended(word, usage)
        if self._text[self._at] not in " \t":
            detail = f"read {self._read(word)}; {usage}"
            raise InvalidModelfile(f"unexpected EOF: {word}", self._true_line(), detail)
        self._at += 1
        return word

    def _value(self) -> str:
        """To the end of the line, or to the line that ends in the closing quotes."""
        line = self._true_line()
        parts = [_printable(self._take(_LINE))]
        first = parts[0].strip(" \t")
        quotes = '"""' if first.startswith('"""') else '"' if first.startswith('"') else ""
        if not quotes:
            return first
        closed = len(first) >= 2 * len(quotes) and first.endswith(quotes)
        while not closed:
            if self._at == len(self._text):
                detail = f"a text that began with {quotes} is not closed at the end of a line"
                raise InvalidModelfile("unexpected EOF", line, detail)
            parts.append(self._text[self._at])
            self._at += 1
            parts.append(_printable(self._take(_LINE)))
            closed = parts[-1].rstrip(" \t").endswith(quotes)
        return "".join(parts).strip(" \t")[len(quotes) : -len(quotes)]

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return match[0]

    def _read(self, word: str) -> str:
        """What was read, for an error: the word, and the rune it stopped at."""
        stop = self._text[self._at : self._at + 1]
        return f'"{word[:40]}{"" if stop.isspace() else stop}"'

    def _refused(self, message: str, word: str) -> InvalidModelfile:
        seen = self._text[: self._at + 1]
        line = 1 + seen.count("\r") + seen.count("\n")  # as Ollama counts: CRLF is two
        extra = ', or "set"' if message is _BAD_COMMAND else ""
        detail = f"read {self._read(word)}{extra and '; also allowed: SET name value'}"
        return InvalidModelfile(f"(line {line}): {message}", self._true_line(), detail)

    def _ended(
        self, word: str, usage: str = "an instruction is followed by a value"
    ) -> InvalidModelfile:
        detail = f"the file ends after {self._read(word)}; {usage}"
        return InvalidModelfile("unexpected EOF", self._true_line(), detail)

    def _true_line(self) -> int:
        """The line of the current place as an editor counts."""
        self._line += len(_NEWLINE.findall(self._text, self._line_start, self._at))
        self._line_start = self._at
        return self._line


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(rune for rune in line if rune == "\t" or rune.isprintable())
