"""TEMPLATE: the part of Go's template language that a voice needs.

`{{ .Prompt }}`, `{{ .System }}`, `{{ .Response }}` (always empty) and
`{{ if .System }} … {{ else }} … {{ end }}` around plain text, with Go's `{{-` and `-}}` trims.
"""

import re
from dataclasses import dataclass

from ollama_tts.errors import InvalidRequest

DEFAULT_TEMPLATE = "{{ .Prompt }}"

_FIELD = re.compile(r"\.(Prompt|System|Response)")
_IF = re.compile(r"if\s+\.(Prompt|System|Response)")


@dataclass(frozen=True, slots=True)
class _Part:
    """One token: kind is text, field, if, else or end; value is its text or field name."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    parts: tuple[_Part, ...]

    @classmethod
    def parse(cls, text: str) -> "Template":
        """Parse TEMPLATE text.

        Raises:
            InvalidRequest: `template error: …`, as Ollama words it.
        """
        parts = tuple(_tokens(text))
        _check_nesting(parts)
        return cls(parts)

    def most_chars(self, system: str) -> int:
        """More than `around` can give for this system text, found without making it."""
        fields = sum(part.kind == "field" and part.value == "System" for part in self.parts)
        texts = sum(len(part.value) for part in self.parts if part.kind == "text")
        return texts + fields * len(system)

    def around(self, system: str) -> tuple[str, str]:
        """The text before and after the prompt, for this system text.

        Only the first `{{ .Prompt }}` is the prompt's place; a template without one puts all of
        its text before.
        """
        before: list[str] = []
        after: list[str] = []
        out = before
        shown = [True]
        for part in self.parts:
            if part.kind == "if":
                shown.append(shown[-1] and _truth(part.value, system))
            elif part.kind == "else":
                shown[-1] = shown[-2] and not shown[-1]
            elif part.kind == "end":
                shown.pop()
            elif shown[-1]:
                if part.kind == "field" and part.value == "Prompt":
                    out = after
                else:
                    out.append(part.value if part.kind == "text" else _value(part.value, system))
        return "".join(before), "".join(after)


def _truth(field: str, system: str) -> bool:
    return field == "Prompt" or (field == "System" and bool(system))


def _value(field: str, system: str) -> str:
    return system if field == "System" else ""


def _tokens(text: str) -> list[_Part]:
    """Text and actions in turn; one pass, however many braces there are."""
    parts: list[_Part] = []
    position = 0
    trim = False
    while (start := text.find("{{", position)) >= 0:
        end = text.find("}}", start + 2)
        if end < 0:
            raise InvalidRequest("template error: unclosed action")
        inner = text[start + 2 : end]
        before, after = _trims(inner)
        plain = text[position:start]
        plain = plain.lstrip() if trim else plain
        parts.append(_Part("text", plain.rstrip() if before else plain))
        action = _action(inner[before : len(inner) - after].strip())
        if action is not None:
            parts.append(action)
        trim = after
        position = end + 2
    rest = text[position:]
    parts.append(_Part("text", rest.lstrip() if trim else rest))
    return parts


def _trims(inner: str) -> tuple[bool, bool]:
    """Whether an action trims the text before it and the text after it."""
    before = inner[:1] == "-" and inner[1:2].isspace()
    after = len(inner) > 1 and inner[-1] == "-" and inner[-2].isspace()
    return before, after


def _action(inner: str) -> _Part | None:
    if match := _FIELD.fullmatch(inner):
        return _Part("field", match[1])
    if match := _IF.fullmatch(inner):
        return _Part("if", match[1])
    if inner in {"else", "end"}:
        return _Part(inner, "")
    if inner.startswith("/*") and inner.endswith("*/"):
        return None
    raise InvalidRequest(
        f"template error: {inner[:40]!r} is not understood; "
        "a voice knows .Prompt, .System and if .System"
    )


def _check_nesting(parts: tuple[_Part, ...]) -> None:
    open_ifs: list[bool] = []
    for part in parts:
        if part.kind == "if":
            open_ifs.append(False)
        elif part.kind in {"else", "end"}:
            if not open_ifs or (part.kind == "else" and open_ifs[-1]):
                raise InvalidRequest(f"template error: unexpected {{{{{part.kind}}}}}")
            if part.kind == "else":
                open_ifs[-1] = True
            else:
                open_ifs.pop()
    if open_ifs:
        raise InvalidRequest("template error: unexpected EOF")
