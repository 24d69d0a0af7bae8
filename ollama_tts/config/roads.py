"""What a way between machines needs: a login, a proxy, a certificate."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user's name and password at one registry."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files with which a server shows who it is, both PEM; `chain` begins with its own."""

    chain: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Proxies:
    """Proxy URLs by the scheme of the request; `direct` lists what is reached without one."""

    http: str = field(default="", repr=False)
    https: str = field(default="", repr=False)
    direct: tuple[str, ...] = ()
