"""The environment, read value by value: the only place in the package that looks at it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ollama_tts.config.address import Address, parse_address
from ollama_tts.config.durations import FOREVER_S, go_duration_s
from ollama_tts.config.roads import Certificate, Credentials, Proxies
from ollama_tts.errors import InvalidOption, InvalidRequest


class Environment:
    """Environment variables (or another mapping of the same shape), each read as what it means."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = os.environ if values is None else values

    def text(self, name: str) -> str:
        """The value without spaces and quotes around it; empty if unset."""
        return self._values.get(name, "").strip().strip("\"'").strip()

    def words(self, name: str) -> tuple[str, ...]:
        """The parts between commas, without empty ones."""
        return tuple(part.strip() for part in self.text(name).split(",") if part.strip())

    def flag(self, name: str) -> bool:
        """Whether it is set to anything but `0`, `f` or `false`."""
        text = self.text(name).lower()
        return bool(text) and text not in {"0", "f", "false"}

    def count(self, name: str, default: int) -> int:
        """A number from 0; what is none is the default."""
        text = self.text(name)
        return int(text) if text.isdecimal() else default

    def seconds(self, name: str, default_s: float) -> float:
        """A duration or a number of seconds; negative is for ever, what cannot be read default."""
        text = self.text(name)
        if not text:
            return default_s
        try:
            seconds = float(int(text)) if re.fullmatch(r"[+-]?\d+", text) else go_duration_s(text)
        except InvalidOption:
            return default_s
        return FOREVER_S if seconds < 0 else seconds

    def path(self, name: str) -> Path | None:
        """A file or folder, `~` expanded; None if unset."""
        text = self.text(name)
        return Path(text).expanduser() if text else None

    def certificate(self, chain: str, key: str) -> Certificate | None:
        """The two files that these variables name; None where neither is set.

        Raises:
            InvalidRequest: Only one of them is set.
        """
        files = self.path(chain), self.path(key)
        if files[0] is None and files[1] is None:
            return None
        if files[0] is None or files[1] is None:
            raise InvalidRequest(f"{chain} and {key} must be set together")
        return Certificate(files[0], files[1])

    def door(self, name: str, default_port: int) -> Address | None:
        """Where a door listens that is shut unless its variable is set.

        Raises:
            InvalidRequest: As `parse_address`.
        """
        text = self.text(name)
        return parse_address(text, name, default_port) if text else None

    def server_url(self, name: str) -> str:
        """The URL of another server, written as OLLAMA_HOST is, perhaps with a path; or empty.

        Raises:
            InvalidRequest: It holds a login, or a scheme other than http and https.
        """
        text = self.text(name).rstrip("/")
        scheme, separator, rest = text.rpartition("://")
        place, _, path = rest.partition("/")
        if "@" in rest:
            raise InvalidRequest(f"{name} must not hold a user name or a password")
        if separator and scheme not in {"http", "https"}:
            raise InvalidRequest(f"{name} {text!r}: the scheme must be http or https")
        if not text:
            return ""
        address = parse_address(scheme + separator + place, name)
        return f"{address.client_url}/{path}".rstrip("/")

    def credentials(self, name: str) -> dict[str, Credentials]:
        """Logins by host in small letters, from `HOST=USER:PASSWORD` entries.

        Raises:
            InvalidRequest: An entry that is not of that form; the text tells only its number.
        """
        found = {}
        for number, entry in enumerate(self.words(name), 1):
            host, given, login = entry.partition("=")
            user, separator, password = login.partition(":")
            if not (host and given and user and separator):
                raise InvalidRequest(f"{name}: entry {number} is not HOST=USER:PASSWORD")
            found[host.strip().lower()] = Credentials(user, password)
        return found

    def proxies(self) -> Proxies:
        """The proxies as curl reads them."""
        return Proxies(
            http=self._proxy("http"),
            https=self._proxy("https"),
            direct=self.words("no_proxy") or self.words("NO_PROXY"),
        )

    def _proxy(self, scheme: str) -> str:
        """The proxy of a scheme; lower case wins, as with curl; a bare host means http."""
        names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
        url = next((text for name in names if (text := self.text(name))), "")
        return url if not url or "://" in url else f"http://{url}"


def client_key(values: Mapping[str, str] | None = None) -> str:
    """The key that a client brings: the first of OLLAMA_TTS_API_KEY that is no hash; or empty."""
    words = Environment(values).words("OLLAMA_TTS_API_KEY")
    return next((word for word in words if not word.startswith("sha256:")), "")


def let_threads_sleep() -> None:
    """Let waiting OpenMP threads sleep instead of spin, unless the environment says otherwise.

    On a shared machine spinning threads cost several times their work. It must be called before
    torch is imported, which is when OpenMP reads the variable.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
