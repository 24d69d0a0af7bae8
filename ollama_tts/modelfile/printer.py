"""Commands to Modelfile text that parses to the same commands."""

import re
from collections.abc import Iterable

from ollama_tts.modelfile.grammar import INSTRUCTIONS, ROLES, Command

_NEWLINE = re.compile(r"[\r\n]")
_CLOSING = re.compile(r'""("[ \t]*[\r\n])')
_PLAIN = frozenset(INSTRUCTIONS) - {"from", "parameter", "message"}


def format(commands: Iterable[Command]) -> str:  # noqa: A001 - the pair of `parse`
    """The Modelfile text of some commands, one instruction after the other.

    What the grammar cannot hold is bent: a line in mid-text that ends in three quotes gets a
    blank between them.
    """
    return "".join(f"{_instruction(command)}\n" for command in commands)


def _instruction(command: Command) -> str:
    if command.name == "model":
        return f"FROM {quote(command.args)}"
    if command.name in _PLAIN:
        return f"{command.name.upper()} {quote(command.args)}"
    role, separator, text = command.args.partition(": ")
    if command.name == "message" and separator and role in ROLES:
        return f"MESSAGE {role} {quote(text)}"
    return f"PARAMETER {command.name} {quote(command.args)}"


def quote(text: str) -> str:
    """A value as a Modelfile writes it: plain where that is enough, else in quotes.

    Runes that the grammar would drop are dropped here, before the quotes are chosen.
    """
    text = "".join(rune for rune in text if rune in "\t\r\n" or rune.isprintable())
    inner = _NEWLINE.split(text)[:-1]
    if not inner and text == text.strip(" \t") and text and not text.startswith('"'):
        return text
    early = any(line.rstrip(" \t").endswith('"') for line in inner)
    if not early and not text.startswith('""') and text != '"':
        return f'"{text}"'
    bent = _CLOSING.sub(r'"" \1', text)
    return f'"""{bent}"""'
