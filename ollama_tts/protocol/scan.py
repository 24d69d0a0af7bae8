"""Where the first JSON value of a text ends, or what Go's decoder would say is wrong with it.

Only texts that the fast decoder refuses come here. The scan is a loop over tokens, not a
recursion, so no nesting can exhaust the stack. Wording: Go's encoding/json, scanner.go.
"""

import re
from collections.abc import Callable
from typing import NoReturn

from ollama_tts.errors import InvalidRequest

MAX_DEPTH = 200
MAX_TOKENS = 200_000  # about a quarter of a second; only broken texts are scanned at all

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_HALF_NUMBER = {
    ".": "after decimal point in numeric literal",
    "e": "in exponent of numeric literal",
    "E": "in exponent of numeric literal",
}
_WORDS = {"t": "true", "f": "false", "n": "null"}
_CLOSES = {"[": "]", "{": "}"}
_ESCAPE = re.compile(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..")


def first_value(text: str) -> str:
    """The first JSON value of `text`, surrogates without a partner replaced by U+FFFD.

    What stands behind the value is ignored, as Go's `Decoder` does; an empty answer means that
    `text` holds no value at all.

    Raises:
        InvalidRequest: With the words of Go's scanner (`unexpected EOF`, `invalid character …`).
    """
    scan = _Scan(text)
    start = scan.at
    if start == len(text):
        return ""
    value = text[start : scan.end()]
    return _ESCAPE.sub(lambda m: m[0] if len(m[0]) in {2, 12} else "\\ufffd", value)


class _Scan:
    """A position in a text, and the brackets that are open there.

    Each step consumes one token and gives the step that must follow; None ends the value.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []
        self._skip()

    def end(self) -> int:
        """Offset behind the value that begins at `at`."""
        step: _Step | None = _Scan.value
        for _ in range(MAX_TOKENS):
            if step is None:
                return self.at
            step = step(self)
        raise InvalidRequest(f"malformed JSON of more than {MAX_TOKENS} tokens")

    def value(self) -> "_Step | None":
        """A whole scalar, or the opening of a bracket."""
        char = self._peek()
        if char in _CLOSES:
            self.open.append(char)
            if len(self.open) > MAX_DEPTH:
                raise InvalidRequest(f"exceeded max depth of {MAX_DEPTH}")
            self.at += 1
            return _Scan.first
        if char == '"':
            self._string()
        elif char in _WORDS:
            self._word(_WORDS[char])
        else:
            self._number()
        return self._next()

    def first(self) -> "_Step | None":
        """What follows an opening bracket at once: its end, or its first member."""
        if self._peek() == _CLOSES[self.open[-1]]:
            return self._close()
        return self._member()

    def key(self) -> "_Step":
        """A key and its colon."""
        if self._peek() != '"':
            self._refuse("looking for beginning of object key string")
        self._string()
        if self._peek() != ":":
            self._refuse("after object key")
        self.at += 1
        return _Scan.value

    def after(self) -> "_Step | None":
        """The comma or the closing bracket behind a member."""
        char = self._peek()
        if char == _CLOSES[self.open[-1]]:
            return self._close()
        if char != ",":
            member = "array element" if self.open[-1] == "[" else "object key:value pair"
            self._refuse(f"after {member}")
        self.at += 1
        return self._member()

    def _member(self) -> "_Step":
        return _Scan.value if self.open[-1] == "[" else _Scan.key

    def _next(self) -> "_Step | None":
        return _Scan.after if self.open else None

    def _close(self) -> "_Step | None":
        self.open.pop()
        self.at += 1
        return self._next()

    def _string(self) -> None:
        self.at += 1
        self._match(_PLAIN)
        char = self._here()
        if char == "\\":
            self.at += 1
            self._bad_escape()
        if char != '"':
            self._refuse("in string literal")
        self.at += 1

    def _bad_escape(self) -> NoReturn:
        if self._here() != "u":
            self._refuse("in string escape code")
        self.at += 1
        while self._here() in "0123456789abcdefABCDEF":
            self.at += 1
        self._refuse("in \\u hexadecimal character escape")

    def _word(self, word: str) -> None:
        for wanted in word:
            if self._here() != wanted:
                self._refuse(f"in literal {word} (expecting {wanted!r})")
            self.at += 1

    def _number(self) -> None:
        if not self._match(_NUMBER):
            if self._here() == "-":
                self.at += 1
                self._refuse("in numeric literal")
            self._refuse("looking for beginning of value")
        problem = _HALF_NUMBER.get(self.text[self.at : self.at + 1])
        if problem:
            self.at += 1
            self._refuse(problem)

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def _skip(self) -> None:
        self._match(_SPACE)

    def _peek(self) -> str:
        self._skip()
        return self._here()

    def _here(self) -> str:
        if self.at >= len(self.text):
            raise InvalidRequest("unexpected EOF")
        return self.text[self.at]

    def _refuse(self, where: str) -> NoReturn:
        char = self._here()
        shown = {"'": r"'\''", '"': "'\"'"}.get(char) or repr(char)
        raise InvalidRequest(f"invalid character {shown} {where} (character {self.at + 1})")


_Step = Callable[[_Scan], "_Step | None"]
