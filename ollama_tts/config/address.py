"""Where a server listens, and OLLAMA_HOST as people write it."""

import ipaddress
import re
from dataclasses import dataclass

from ollama_tts.errors import InvalidRequest

DEFAULT_PORT = 11434


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens: `host` without brackets, `port` 1..65535 (0 picks a free one)."""

    host: str
    port: int
    scheme: str = "http"

    @property
    def url(self) -> str:
        """The address as a client writes it, `http://127.0.0.1:11434`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def client_url(self) -> str:
        """`url`, with the wildcard addresses replaced by loopback ones."""
        loopback = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
        return Address(loopback.get(self.host, self.host), self.port, self.scheme).url

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(
    text: str, name: str = "OLLAMA_HOST", default_port: int = DEFAULT_PORT
) -> Address:
    """The value of OLLAMA_HOST, or of the variable `name`.

    Host, port, both or neither, with or without scheme and brackets.

    As Ollama reads it (envconfig `Host`): the port of a bare http URL is 80, of https 443, else
    `default_port`. Unlike Ollama a bad port is refused, not replaced.

    Raises:
        InvalidRequest: The port is not a number from 0 to 65535.
    """
    scheme, _, rest = text.rpartition("://")
    default = {"http": 80, "https": 443}.get(scheme, default_port)
    rest = rest.strip().rstrip("/").split("/")[0]
    if _is_ip6(rest):
        return Address(rest, default, scheme or "http")
    match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", rest)
    if match is None:
        raise InvalidRequest(f"{name} {text!r} is not an address (host, :port or host:port)")
    host = match[1].strip("[]") or "127.0.0.1"
    return Address(host, _port(match[2], default, f"{name} {text!r}"), scheme or "http")


def _port(text: str | None, default: int, whole: str) -> int:
    if not text:
        return default
    if not text.isdecimal() or int(text) > 65535:
        raise InvalidRequest(f"{whole}: port {text!r} must be from 0 to 65535")
    return int(text)


def _is_ip6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False
