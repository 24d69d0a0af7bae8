"""Which registries may be used, what they may lead to, and what is known there by name.

Settings: OLLAMA_TTS_REGISTRIES (`HOST`, `HOST=PARTNER+PARTNER`, `*`) and
OLLAMA_TTS_REGISTRY_AUTH. Credentials in a name (`user:password@host/…`) hold for that one pull.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ollama_tts.config import Credentials
from ollama_tts.errors import Forbidden, InvalidName
from ollama_tts.names import DEFAULT_HOST

# Ollama's own registry asks for tokens at its sister site.
BUILT_IN: Mapping[str, frozenset[str]] = {DEFAULT_HOST: frozenset({"ollama.com"})}
_LOGIN = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]*://)?)([^/@:]+):([^/@]*)@(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Trust:
    """The setting, parsed. `hosts` empty means any registry."""

    hosts: frozenset[str]
    partners: Mapping[str, frozenset[str]]

    @classmethod
    def parse(cls, entries: Sequence[str]) -> "Trust":
        """The trust that the entries of OLLAMA_TTS_REGISTRIES give."""
        hosts = set()
        partners = dict(BUILT_IN)
        for entry in entries:
            host, _, listed = entry.lower().partition("=")
            hosts.add(host.strip())
            found = {part.strip() for part in listed.split("+") if part.strip()}
            partners[host.strip()] = partners.get(host.strip(), frozenset()) | found
        return cls(frozenset() if "*" in hosts else frozenset(hosts), partners)

    def need(self, host: str) -> None:
        """Return if a host may be used.

        Raises:
            Forbidden: It may not; the text names the setting.
        """
        if self.hosts and host.lower() not in self.hosts:
            raise Forbidden(f"{host} is not among the registries of OLLAMA_TTS_REGISTRIES")

    def partners_of(self, host: str) -> frozenset[str]:
        """The hosts that a host may lead to, wherever they are."""
        return self.partners.get(host.lower(), frozenset())


def take_login(text: str) -> tuple[str, Credentials | None]:
    """A model's name without `user:password@`, and those.

    Raises:
        InvalidName: `@` without a name and a password before it.
    """
    match = _LOGIN.fullmatch(text.strip())
    if match is None:
        if "@" in text:
            raise InvalidName("invalid model name")
        return text, None
    return match[1] + match[4], Credentials(match[2], match[3])
