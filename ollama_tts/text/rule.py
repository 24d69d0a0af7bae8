"""A `Rule`: how one kind of written thing is said, as a pattern and what its match becomes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ollama_tts.text.account import Account
from ollama_tts.text.mapped import MappedText, Replacement


@dataclass(frozen=True, slots=True)
class Partly:
    """Words for a match of which `unsaid` (stretches of the matched text) is left out."""

    words: str
    unsaid: tuple[tuple[int, int], ...]
    reason: str


Say = Callable[[re.Match[str]], str | Partly | None]
"""Words for a match, or None where the rule does not hold after all."""

_HAN = re.compile("[\u3400-\u9fff]")

NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
"""A number with or without grouping commas and decimals."""

ALONE = r"(?<![\w.,:/-])(?<![\d]['’])"
"""In front of a number that is not the tail of something longer."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Where `pattern` matches, `say` gives the words; `sign` is a cheap test for a text."""

    pattern: re.Pattern[str]
    say: Say
    sign: re.Pattern[str] | None = None


def rule(pattern: str, say: Say, *, sign: str | None = r"\d", flags: int = 0) -> Rule:
    """A rule from the pattern's text; it is tried only on text that matches `sign`."""
    return Rule(re.compile(pattern, flags), say, re.compile(sign) if sign else None)


def ascii_rule(pattern: str, say: Say, *, sign: str | None = r"\d") -> Rule:
    """A rule for Chinese text, in whose pattern Chinese characters are not word characters."""
    return rule(pattern, say, sign=sign, flags=re.ASCII)


def apply_rules(text: MappedText, rules: Sequence[Rule], account: Account) -> MappedText:
    """`text` after all `rules`, one after the other; what they leave unsaid is on `account`."""
    absent: set[re.Pattern[str]] = set()
    for each in rules:
        if each.sign in absent:
            continue
        if each.sign is not None and each.sign.search(text.text) is None:
            absent.add(each.sign)
            continue
        if each.pattern.search(text.text) is not None:
            text = text.rewrite(each.pattern, _change(text, each.say, account))
    return text


def _change(text: MappedText, say: Say, account: Account) -> Callable[[re.Match[str]], Replacement]:
    """What `say` gives, with a space where its words would run into letters beside them."""

    def change(match: re.Match[str]) -> Replacement:
        words = say(match)
        if isinstance(words, Partly):
            for first, last in words.unsaid:
                if first < last:
                    account.drop(text.starts[first], text.ends[last - 1], words.reason)
            words = words.words
        if not words:
            return words
        before = match.string[match.start() - 1 : match.start()]
        behind = match.string[match.end() : match.end() + 1]
        left = " " if _touch(before, words[0]) else ""
        right = " " if _touch(words[-1], behind) else ""
        return left + words + right

    return change


def _touch(left: str, right: str) -> bool:
    if not (left.isalnum() and right.isalnum()):
        return False
    return not (_HAN.match(left) or _HAN.match(right))
