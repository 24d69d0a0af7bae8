"""What a request to another machine needs: a login, a proxy."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user's name and password at one registry."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Proxies:
    """Proxy URLs by the scheme of the request; `direct` lists what is reached without one."""

    http: str = field(default="", repr=False)
    https: str = field(default="", repr=False)
    direct: tuple[str, ...] = ()
