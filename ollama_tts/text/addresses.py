"""URLs, e-mail addresses, domains and file names in a form that can be said."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ollama_tts.text.rule import Partly, Rule, rule
from ollama_tts.text.wordlist import listed

_TOP = (
    "com|org|net|io|ai|dev|cn|edu|gov|co|uk|de|fr|jp|ru|eu|us|app|me|info|tv|xyz|biz|cc|gg|ly|so|"
    "tech|cloud|site|online|store|blog|wiki|example|test|ca|au|nl|it|es|ch|in|br|kr|tw|hk|sg"
)
_FILE = (
    "py|js|ts|tsx|jsx|json|yaml|yml|toml|md|txt|csv|html|css|cpp|hpp|rs|go|java|rb|php|sh|sql|"
    "xml|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|mp3|mp4|wav|flac|zip|tar|gz|exe|dll|log|ini|cfg|"
    "gguf|safetensors|onnx"
)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}\.)+[A-Za-z]{{2,24}}"
_PATH = r"(?:[/?#][A-Za-z0-9\-._~:/?#@!$&*+,;=%()]*)?"
_URL = rf"(?:https?|ftp|wss?)://(?:[^\s/@:\u2e80-\uffef]+@)?({_HOST}|localhost|\d+(?:\.\d+){{3}})(?::(\d+))?({_PATH})"
_MAIL = rf"(?<![\w.+-])(?:mailto:)?([A-Za-z0-9][A-Za-z0-9._%+-]*)@({_HOST})"
_DOMAIN = rf"(?<![\w@./-])((?:{_LABEL}\.)+(?:{_TOP}))(?![\w-])(?!\.\w)()({_PATH})"
_FILES = rf"(?<![\w@/.-])([A-Za-z][\w-]*(?:\.[\w-]+)*)\.({_FILE})(?![\w-])(?!\.\w)"
_TRAIL = ".,;:!?)\"'"
_SHORT_PATH = re.compile(r"/(?:[A-Za-z][A-Za-z-]{0,23}/?){1,2}")
_SAID_WHOLE = frozenset(
    listed(
        "com org net info blog wiki app dev cloud site online store tech example test gov edu "
        "biz localhost log exe java go zip wav json yaml toml gif onnx"
    )
)
_PART = re.compile(r"[A-Za-z]+|\d+|[._%+-]")


@dataclass(frozen=True, slots=True)
class Words:
    """How a language says the signs in addresses, and digits."""

    dot: str
    at: str
    slash: str
    dash: str
    underscore: str
    plus: str
    number: Callable[[str], str]


def address_rules(words: Words) -> tuple[Rule, ...]:
    """The rules for addresses, said with `words`."""
    return (
        rule(_URL, lambda match: _url(match, words), sign="://", flags=re.ASCII),
        rule(_MAIL, lambda match: _mail(match, words), sign="@", flags=re.ASCII),
        rule(_DOMAIN, lambda match: _url(match, words), sign=r"\w\.\w", flags=re.ASCII),
        rule(
            _FILES,
            lambda match: _file(match, words),
            sign=r"\w\.\w",
            flags=re.IGNORECASE | re.ASCII,
        ),
    )


def _url(match: re.Match[str], words: Words) -> Partly:
    """The host, and the path where it is short and made of words; the rest is left unsaid."""
    path = match[3]
    kept = path.rstrip(_TRAIL)
    said = _host(match[1].removeprefix("www."), words)
    end = match.end() - len(path) + len(kept)
    unsaid = [(match.start(), match.start(1))]
    if _SHORT_PATH.fullmatch(kept):
        for segment in kept.strip("/").split("/"):
            said += f" {words.slash} {_parts(segment, words)}"
    else:
        unsaid.append((match.end(1), end))
    return Partly(said + path[len(kept) :], tuple(unsaid), "url detail")


def _host(host: str, words: Words) -> str:
    if re.fullmatch(r"[\d.]+", host):
        return f" {words.dot} ".join(words.number(part) for part in host.split("."))
    return f" {words.dot} ".join(_label(label, words) for label in host.split("."))


def _label(label: str, words: Words) -> str:
    """One label: short ones that are no words are spelled."""
    if label.lower() in _SAID_WHOLE or (len(label) > 3 and label.isalpha()):
        return label
    if label.isalpha() and len(label) <= 3 and (len(label) < 3 or not _has_vowel(label)):
        return " ".join(label.upper())
    return _parts(label, words)


def _has_vowel(text: str) -> bool:
    return any(char in "aeiouyAEIOUY" for char in text)


def _parts(text: str, words: Words) -> str:
    signs = {"-": words.dash, "_": words.underscore, ".": words.dot, "+": words.plus, "%": ""}
    return " ".join(
        words.number(part) if part.isdigit() else signs.get(part, part)
        for part in _PART.findall(text)
    )


def _mail(match: re.Match[str], words: Words) -> str:
    return f"{_parts(match[1], words)} {words.at} {_host(match[2], words)}"


def _file(match: re.Match[str], words: Words) -> str:
    ending = match[2]
    name = _parts(match[1], words)
    said = ending if ending.lower() in _SAID_WHOLE or len(ending) > 5 else _spelled(ending)
    return f"{name} {words.dot} {said}"


def _spelled(ending: str) -> str:
    return " ".join(ending.upper())
