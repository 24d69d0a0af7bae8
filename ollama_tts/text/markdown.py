"""Markdown as a person would read it: headings, items, emphasis and links without their marks."""

import re

from ollama_tts.text.account import Account
from ollama_tts.text.mapped import MappedText, Part, Replacement

_ANY = re.compile(r"[#*_`~<>|\[\]\\&]|^[ \t]*[-+=•‣◦●○▪]", re.MULTILINE)
_RULE = re.compile(
    r"^[ \t]*(?:([-*_=])[ \t]*(?:\1[ \t]*){2,}|={2,}|\|?[ \t]*:?-{2,}[-:| \t]*)[ \t]*$",
    re.MULTILINE,
)
_BLOCK = re.compile(
    r"^[ \t]*(?:(?:>[ \t]?)*(?:#{1,6}(?=[ \t]|$)[ \t]*"
    r"|[-*+•‣◦●○▪][ \t]+(?:\[[ xX]\][ \t]+)?|>[ \t]*)+)",
    re.MULTILINE,
)
_HEADING_END = re.compile(r"[ \t]+#+[ \t]*$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\[\]\n]*)\]\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)")
_REFERENCE = re.compile(r"(?<=\])\[[^\[\]\n]*\]|\[\^[^\[\]\s]{1,20}\]:?")
_AUTO = re.compile(r"<((?:https?://|mailto:)[^<>\s]+|[^<>\s@]+@[^<>\s]+)>")
_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][A-Za-z0-9-]*(?:\s+[^<>\n]*)?/?>", re.DOTALL)
_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos|nbsp|#39|#x27);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": " "}
_CODE = re.compile(r"(`+)([^`\n]+)\1")
_STRONG = re.compile(r"\*{2,}|_{2,}(?![A-Za-z0-9])|(?<![A-Za-z0-9])_{2,}|~~+|`+")
_EMPHASIS = re.compile(r"(?<![\w*])[*_](?=\S)|(?<=[^\s*])[*_](?![\w*])")
_STAR = re.compile(r"(?<=[^\s\d])\*(?=\S)|(?<=\S)\*(?=[^\s\d])")
_ROW = re.compile(r"^[ \t]*\|.*$|^[^|\n]+\|[^|\n]+\|.*$", re.MULTILINE)
_PIPE = re.compile(r"\|")
_ESCAPE = re.compile(r"\\(?=[\\`*_{}\[\]()#+.!|<>~-])")


def strip_markdown(text: MappedText, account: Account) -> MappedText:
    """`text` without the marks of Markdown and HTML; what goes is dropped on `account`."""
    if not _ANY.search(text.text):
        return text
    for pattern in (_RULE, _BLOCK, _HEADING_END):
        text = _drop(text, pattern, account, "markdown")
    text = _links(text, account)
    text = _drop(text, _REFERENCE, account, "markdown")
    text = _tags(text, account)
    text = text.rewrite(_ENTITY, lambda match: _ENTITIES.get(match[1], "'"))
    text = _rows(text)
    for pattern in (_ESCAPE, _STRONG, _EMPHASIS, _STAR):
        text = _drop(text, pattern, account, "markdown")
    return text


def _drop(text: MappedText, pattern: re.Pattern[str], account: Account, why: str) -> MappedText:
    def change(match: re.Match[str]) -> Replacement:
        if not match[0]:
            return None
        account.drop(text.starts[match.start()], text.ends[match.end() - 1], why)
        return ""

    return text.rewrite(pattern, change)


def _links(text: MappedText, account: Account) -> MappedText:
    """A link is its text, a picture its description; an address alone stays."""

    def change(match: re.Match[str]) -> Replacement:
        if not match[2].strip():
            account.drop(text.starts[match.start()], text.ends[match.end() - 1], "link address")
            return ""
        first, last = match.span(2)
        account.drop(text.starts[match.start()], text.starts[first], "markdown")
        account.drop(text.starts[last], text.ends[match.end() - 1], "link address")
        return (first, last)

    return text.rewrite(_LINK, change)


def _tags(text: MappedText, account: Account) -> MappedText:
    def bare(match: re.Match[str]) -> Replacement:
        account.drop(text.starts[match.start()], text.ends[match.start()], "markdown")
        account.drop(text.starts[match.end() - 1], text.ends[match.end() - 1], "markdown")
        return match.span(1)

    text = text.rewrite(_AUTO, bare)
    done = text

    def tag(match: re.Match[str]) -> Replacement:
        account.drop(done.starts[match.start()], done.ends[match.end() - 1], "markup")
        return " " if match[0].lower().startswith(("<br", "<p", "</p", "<li", "<td")) else ""

    return text.rewrite(_TAG, tag)


def _rows(text: MappedText) -> MappedText:
    """A row of a table: its cells with commas between."""

    def row(match: re.Match[str]) -> Replacement:
        parts: list[Part] = []
        place = match.start()
        for pipe in _PIPE.finditer(text.text, match.start(), match.end()):
            parts.append((place, pipe.start()))
            inner = text.text[match.start() : pipe.start()].strip() and pipe.end() < len(
                text.text[: match.end()].rstrip()
            )
            parts.append(", " if inner else " ")
            place = pipe.end()
        parts.append((place, match.end()))
        return parts

    return text.rewrite(_ROW, row)
