"""Answering a registry that wants to know who asks: Bearer tokens, Basic, Ollama's key.

A token is fetched from the registry's own host or one that the settings list for it, never from
a host that only the registry names: whoever signs for a stranger gives himself away
(CVE-2025-51471).
"""

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, get_args

import httpx
import msgspec

from ollama_tts.config import Credentials
from ollama_tts.errors import Unauthorized
from ollama_tts.registry.failures import Refused
from ollama_tts.registry.key import KeyFile
from ollama_tts.registry.web import Ask, BadStatus, Reach, Web, need_success, read_all

MAX_TOKEN_BYTES = 256 * 1024
MAX_CHALLENGE_CHARS = 8192
Way = Literal["login", "nobody", "key"]
_FIELD = re.compile(r'([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))')


@dataclass(frozen=True, slots=True)
class Challenge:
    """A `WWW-Authenticate` header: `scheme` is bearer or basic; the rest may be empty."""

    scheme: str
    realm: str = ""
    service: str = ""
    scopes: tuple[str, ...] = ()

    @classmethod
    def parse(cls, header: str) -> "Challenge":
        """The challenge of a header; the first scheme in it counts."""
        scheme, _, rest = header[:MAX_CHALLENGE_CHARS].strip().partition(" ")
        found = {name.lower(): quoted or bare for name, quoted, bare in _FIELD.findall(rest)}
        return cls(
            scheme.lower(),
            found.get("realm", ""),
            found.get("service", ""),
            tuple(found.get("scope", "").split()),
        )


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""


@dataclass(slots=True, eq=False)
class Login:
    """What one registry is told about us. `header` goes with every request to it.

    Without credentials a token is asked for as nobody first, then with the key.
    """

    web: Web
    reach: Reach
    key: KeyFile
    credentials: Credentials | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ways(self) -> Sequence[Way]:
        """How tokens are asked for, in order."""
        return ("login",) if self.credentials else get_args(Way)[1:]

    async def answer(self, header: str, failed: int) -> None:
        """Answer a challenge; `failed` answers in a row were not enough.

        Raises:
            Unauthorized: There is nothing more to show; or the registry sends us to a stranger.
            UpstreamFailed: The token server does not do its work.
        """
        challenge = Challenge.parse(header)
        if challenge.scheme == "basic":
            if self.credentials is None or failed:
                raise self._refused()
            self._show(_basic(self.credentials))
            return
        if challenge.scheme != "bearer" or not challenge.realm:
            raise self._refused()
        for way in self.ways[failed:]:
            token = await self._token(challenge, way)
            if token:
                self._show(f"Bearer {token}")
                return
        raise self._refused()

    def _show(self, authorization: str) -> None:
        self.headers = {"Authorization": authorization}

    def _refused(self) -> Unauthorized:
        host = self.reach.home.netloc.decode()
        hint = "" if self.credentials else "; OLLAMA_TTS_REGISTRY_AUTH takes a name and a password"
        return Unauthorized(f"unauthorized: access denied by {host}{hint}")

    async def _token(self, challenge: Challenge, way: Way) -> str:
        """A token; empty where the token server wants more to go on."""
        url = self._realm(challenge)
        headers: dict[str, str] = {}
        if way == "login":
            assert self.credentials is not None
            headers["Authorization"] = _basic(self.credentials)
        elif way == "key":
            url = self._stamped(url)
            headers["Authorization"] = self.key.sign(signed_text(url).encode())
        reach = Reach(url, self.reach.partners)
        async with self.web.open(Ask("GET", url, headers), reach) as response:
            try:
                await need_success(response)
            except BadStatus as error:
                if error.status in {401, 403}:
                    return ""
                raise
            data = await read_all(response, MAX_TOKEN_BYTES, "a token")
        return _token_in(data, url)

    def _realm(self, challenge: Challenge) -> httpx.URL:
        home = self.reach.home
        try:
            url = httpx.URL(challenge.realm)
        except httpx.InvalidURL as error:
            raise self._refused() from error
        same = url.netloc == home.netloc
        if not same and not self.reach.is_partner(url):
            raise Unauthorized(
                f'realm host "{url.netloc.decode()}" does not match original host '
                f'"{home.netloc.decode()}"; OLLAMA_TTS_REGISTRIES can list it as a partner: '
                f"{home.netloc.decode()}={url.netloc.decode()}"
            )
        if url.scheme != "https" and not (url.scheme == "http" == home.scheme):
            raise Refused(f"{home.host} asks for a token over {url.scheme[:20]!r}")
        pairs = [*url.params.multi_items(), ("service", challenge.service)]
        pairs += [("scope", scope) for scope in challenge.scopes]
        return url.copy_with(params=[pair for pair in pairs if pair[1]], userinfo=b"")

    def _stamped(self, url: httpx.URL) -> httpx.URL:
        """The URL with time and nonce, its parameters in order, as Ollama signs it."""
        nonce = base64.urlsafe_b64encode(secrets.token_bytes(16)).rstrip(b"=").decode()
        ts = str(int(self.now().timestamp()))
        pairs = [*url.params.multi_items(), ("ts", ts), ("nonce", nonce)]
        return url.copy_with(params=sorted(pairs, key=lambda pair: pair[0]))


def signed_text(url: httpx.URL) -> str:
    """What the key signs: method, URL, and the hash of the empty body (auth/auth.go)."""
    empty = base64.b64encode(hashlib.sha256(b"").hexdigest().encode()).decode()
    return f"GET,{url},{empty}"


def _token_in(data: bytes, url: httpx.URL) -> str:
    try:
        found = msgspec.json.decode(data, type=_Token)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"{url.host} answered with something that is no token") from error
    token = found.token or found.access_token
    if not token.isascii() or not token.isprintable():
        raise Refused(f"{url.host} answered with something that is no token")
    return token


def _basic(credentials: Credentials) -> str:
    login = f"{credentials.user}:{credentials.password}".encode()
    return f"Basic {base64.b64encode(login).decode()}"
