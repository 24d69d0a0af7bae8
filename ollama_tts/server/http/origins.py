"""Which Host and which Origin may speak to this server: rules on text, no I/O.

Loopback is not trust: any web page can make a browser send requests to 127.0.0.1, under its own
Origin, or, by DNS rebinding, under its own host name. Origins are Ollama's defaults
(envconfig/config.go) and OLLAMA_ORIGINS; hosts are Ollama's (server/routes.go) and
OLLAMA_TTS_ALLOWED_HOSTS.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from ollama_tts.config import Settings

_LOCAL = ("localhost", "127.0.0.1", "0.0.0.0", "[::1]")  # noqa: S104  # names, nothing is bound
DEFAULT_ORIGINS = (
    *(f"{scheme}://{host}{port}" for host in _LOCAL for scheme in ("http", "https")
      for port in ("", ":*")),
    "app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*",
)  # fmt: skip
_LOCAL_ENDINGS = (".localhost", ".local", ".internal")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%a-z]+\]|[^\[\]:]*)(?::[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Caller:
    """What the headers say of where a request comes from; None where a field is missing.

    `browser` is True where the headers are of a kind that only browsers send.
    """

    host: str | None
    origin: str | None
    browser: bool


class OriginRules:
    """Decides on Host and Origin for one server."""

    def __init__(self, settings: Settings, own_name: str | None = None) -> None:
        self._loopback = settings.address.loopback
        self._any_origin = "*" in settings.origins
        self._origins = _Wildcards((*DEFAULT_ORIGINS, *settings.origins))
        own = (own_name or socket.gethostname()).lower()
        self._any_host = "*" in settings.allowed_hosts
        self._hosts = _Wildcards(("localhost", own, *settings.allowed_hosts))

    @property
    def any_origin(self) -> bool:
        """Whether OLLAMA_ORIGINS is `*`: the answer then names no origin."""
        return self._any_origin

    def refuse(self, caller: Caller) -> str | None:
        """Why a request is refused, naming the setting that would allow it; None: it may pass."""
        if not self._host_allowed(caller):
            return (
                f'host "{_name(caller.host or "")}" is not allowed; '
                "list it in OLLAMA_TTS_ALLOWED_HOSTS"
            )
        if caller.origin is not None and not self._origin_allowed(caller.origin, caller.host):
            return f'origin "{caller.origin[:200]}" is not allowed; list it in OLLAMA_ORIGINS'
        return None

    def _host_allowed(self, caller: Caller) -> bool:
        """A name is checked where a rebound one would do harm: on loopback, and for browsers.

        An address cannot be rebound. Behind a proxy or in a container network programs reach a
        public server by whatever name that network has.
        """
        name = _name(caller.host or "")
        if not name or self._any_host or _is_address(name):
            return True
        if name.endswith(_LOCAL_ENDINGS) or self._hosts.match(name):
            return True
        listed = caller.origin is not None and self._origins.match(caller.origin.lower())
        return not self._loopback and (not caller.browser or listed)

    def _origin_allowed(self, origin: str, host: str | None) -> bool:
        if self._any_origin:
            return True
        same = host is not None and origin.lower().partition("://")[2] == host.lower()
        return same or self._origins.match(origin.lower())


class _Wildcards:
    """A list of texts in which `*` stands for anything, and `:*` at the end for any port."""

    def __init__(self, patterns: Iterable[str]) -> None:
        escaped = (re.escape(text.lower()) for text in patterns)
        ports = (re.sub(r":\\\*$", ":[0-9]+", text) for text in escaped)
        parts = (text.replace(r"\*", ".*") for text in ports)
        self._pattern = re.compile("|".join(f"(?:{part})" for part in parts))

    def match(self, text: str) -> bool:
        return self._pattern.fullmatch(text) is not None


def _name(host: str) -> str:
    """The host without its port, in lower case; a Host that is none stays as it is."""
    match = _HOST.fullmatch(host.strip())
    return (match[1].strip("[]") if match else host).rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
