"""`Settings`: every environment variable, read here and nowhere else.

`VARIABLES` is the table that `serve --help` and docs/configuration.md print.
"""

import ipaddress
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ollama_tts.errors import InvalidOption, InvalidRequest

DEFAULT_PORT = 11434
DEFAULT_GRPC_PORT = 50051
DEFAULT_WYOMING_PORT = 10200
DEFAULT_HUB = "https://huggingface.co"
FOREVER_S = math.inf
MAX_JSON_BYTES = 4 * 1024**2
MAX_PASSED_BYTES = 64 * 1024**2  # language models are sent pictures


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable: its name, the default as text, and what it does."""

    name: str
    default: str
    help: str


VARIABLES: tuple[Variable, ...] = (
    Variable(
        "OLLAMA_HOST", "127.0.0.1:11434",
        "Address to listen on, and where the client finds the server.",
    ),
    Variable("OLLAMA_MODELS", "~/.ollama-tts/models", "Folder of the model store."),
    Variable(
        "OLLAMA_KEEP_ALIVE", "5m",
        "How long an idle model stays loaded: `30s`, `5m`, seconds, negative = for ever.",
    ),
    Variable(
        "OLLAMA_NUM_PARALLEL", "0",
        "Most requests spoken at once per model; 0: as many as the voice has slots.",
    ),
    Variable("OLLAMA_MAX_LOADED_MODELS", "0", "Most models loaded at once; 0: three per device."),
    Variable("OLLAMA_MAX_QUEUE", "512", "Most requests that wait; one more is answered 503."),
    Variable("OLLAMA_LOAD_TIMEOUT", "5m", "How long a load may take."),
    Variable("OLLAMA_ORIGINS", "", "More allowed Origins, comma separated, `*` as wildcard."),
    Variable(
        "OLLAMA_UPSTREAM", "",
        "Address of a real Ollama: requests for names that are not here go there, and its language "
        "models can be spoken (docs/upstream.md).",
    ),
    Variable("OLLAMA_NOPRUNE", "0", "1: keep blobs that no manifest names."),
    Variable("OLLAMA_DEBUG", "0", "1: debug log."),
    Variable("OLLAMA_TTS_DEFAULT_MODEL", "", "Model of doors whose `model` field is optional."),
    Variable(
        "OLLAMA_TTS_API_KEY", "",
        "If set, every request needs `Authorization: Bearer KEY`; several keys by commas.",
    ),
    Variable(
        "OLLAMA_TTS_ALLOWED_HOSTS", "",
        "More allowed Host names, comma separated; `*` allows all.",
    ),
    Variable(
        "OLLAMA_TTS_CACHE_BYTES", "134217728",
        "Bytes of sound kept in memory; 0: no audio cache.",
    ),
    Variable("OLLAMA_TTS_CACHE_DIR", "", "Folder of the audio cache on disk; unset: memory only."),
    Variable(
        "OLLAMA_TTS_CACHE_DISK_BYTES", "2147483648", "Bytes of sound kept in that folder."
    ),
    Variable(
        "OLLAMA_TTS_GRPC_HOST", "",
        "Address of the gRPC door, port 50051 if none is named; unset: no such door. Extra `grpc`.",
    ),
    Variable(
        "OLLAMA_TTS_WYOMING_HOST", "",
        "Address of the Wyoming door (Home Assistant), port 10200 if none is named; unset: no such "
        "door. Extra `wyoming`. The protocol knows no API keys.",
    ),
    Variable("OLLAMA_TTS_LOG", "text", "Log lines as `text` or `json`."),
    Variable(
        "OLLAMA_TTS_REGISTRIES", "*",
        "Registries that may be used, comma separated; `HOST=PARTNER+PARTNER` lets HOST send to "
        "other hosts for tokens and blobs (docs/registry.md).",
    ),
    Variable(
        "OLLAMA_TTS_REGISTRY_AUTH", "",
        "Names and passwords for registries, `HOST=USER:PASSWORD`, comma separated.",
    ),
    Variable("HF_ENDPOINT", "https://huggingface.co", "The model hub, or a mirror of it."),
    Variable("HF_TOKEN", "", "Token for the model hub; sent to that host alone."),
    Variable(
        "HTTPS_PROXY", "",
        "Proxy of https requests to registries and the hub; `HTTP_PROXY` and `ALL_PROXY` likewise.",
    ),
    Variable("NO_PROXY", "", "Hosts, domains and networks reached without a proxy, by commas."),
)  # fmt: skip


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


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one node. Times in seconds, sizes in bytes."""

    address: Address = Address("127.0.0.1", DEFAULT_PORT)
    models_dir: Path = Path("~/.ollama-tts/models")
    keep_alive_s: float = 300.0
    num_parallel: int = 0
    max_loaded_models: int = 0
    max_queue: int = 512
    load_timeout_s: float = 300.0
    origins: tuple[str, ...] = ()
    upstream: str = ""
    prune: bool = True
    debug: bool = False
    default_model: str = ""
    api_keys: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    log_format: str = "text"
    cache_bytes: int = 128 * 1024**2
    cache_dir: Path | None = None
    cache_disk_bytes: int = 2 * 1024**3
    grpc_address: Address | None = None
    wyoming_address: Address | None = None
    max_json_bytes: int = MAX_JSON_BYTES
    max_text_chars: int = 1_000_000
    max_blob_bytes: int = 64 * 1024**3
    header_timeout_s: float = 10.0
    body_timeout_s: float = 60.0
    registries: tuple[str, ...] = ("*",)
    registry_auth: Mapping[str, Credentials] = field(default_factory=dict)
    hub_endpoint: str = DEFAULT_HUB
    hub_token: str = field(default="", repr=False)
    proxies: Proxies = Proxies()
    shared_key: Path = Path("~/.ollama/id_ed25519")

    @property
    def keys(self) -> tuple[Path, ...]:
        """Where the key that names this server to registries may lie; the first may be made."""
        return self.models_dir.parent / self.shared_key.name, self.shared_key.expanduser()

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Settings from the environment (or another mapping of the same shape).

        Raises:
            InvalidRequest: An address that cannot be meant; the text quotes the value.
        """
        env = os.environ if environ is None else environ
        return cls(
            address=parse_address(_clean(env, "OLLAMA_HOST")),
            models_dir=_models_dir(env),
            keep_alive_s=_seconds(env, "OLLAMA_KEEP_ALIVE", 300.0),
            num_parallel=_count(env, "OLLAMA_NUM_PARALLEL", 0),
            max_loaded_models=_count(env, "OLLAMA_MAX_LOADED_MODELS", 0),
            max_queue=_count(env, "OLLAMA_MAX_QUEUE", 512),
            load_timeout_s=_seconds(env, "OLLAMA_LOAD_TIMEOUT", 300.0),
            origins=_list(env, "OLLAMA_ORIGINS"),
            upstream=_upstream(env),
            max_json_bytes=MAX_PASSED_BYTES if _upstream(env) else MAX_JSON_BYTES,
            prune=not _flag(env, "OLLAMA_NOPRUNE"),
            debug=_flag(env, "OLLAMA_DEBUG"),
            default_model=_clean(env, "OLLAMA_TTS_DEFAULT_MODEL"),
            api_keys=_list(env, "OLLAMA_TTS_API_KEY"),
            allowed_hosts=_list(env, "OLLAMA_TTS_ALLOWED_HOSTS"),
            cache_bytes=_count(env, "OLLAMA_TTS_CACHE_BYTES", 128 * 1024**2),
            cache_dir=_folder(env, "OLLAMA_TTS_CACHE_DIR"),
            cache_disk_bytes=_count(env, "OLLAMA_TTS_CACHE_DISK_BYTES", 2 * 1024**3),
            grpc_address=_door(env, "OLLAMA_TTS_GRPC_HOST", DEFAULT_GRPC_PORT),
            wyoming_address=_door(env, "OLLAMA_TTS_WYOMING_HOST", DEFAULT_WYOMING_PORT),
            log_format="json" if _clean(env, "OLLAMA_TTS_LOG") == "json" else "text",
            registries=_list(env, "OLLAMA_TTS_REGISTRIES") or ("*",),
            registry_auth=_credentials(env, "OLLAMA_TTS_REGISTRY_AUTH"),
            hub_endpoint=_clean(env, "HF_ENDPOINT").rstrip("/") or DEFAULT_HUB,
            hub_token=_clean(env, "HF_TOKEN"),
            proxies=Proxies(
                http=_proxy(env, "http"),
                https=_proxy(env, "https"),
                direct=_list(env, "no_proxy") or _list(env, "NO_PROXY"),
            ),
        )


def _door(env: Mapping[str, str], name: str, default_port: int) -> Address | None:
    """Where a door listens that is shut unless its variable is set."""
    text = _clean(env, name)
    return parse_address(text, name, default_port) if text else None


def _upstream(env: Mapping[str, str]) -> str:
    """The URL of OLLAMA_UPSTREAM, written as OLLAMA_HOST is, perhaps with a path; empty: none."""
    text = _clean(env, "OLLAMA_UPSTREAM").rstrip("/")
    scheme, separator, rest = text.rpartition("://")
    place, _, path = rest.partition("/")
    if "@" in rest:
        raise InvalidRequest("OLLAMA_UPSTREAM must not hold a user name or a password")
    if separator and scheme not in {"http", "https"}:
        raise InvalidRequest(f"OLLAMA_UPSTREAM {text!r}: the scheme must be http or https")
    if not text:
        return ""
    address = parse_address(scheme + separator + place, "OLLAMA_UPSTREAM")
    return f"{address.client_url}/{path}".rstrip("/")


def let_threads_sleep() -> None:
    """Let waiting OpenMP threads sleep instead of spin, unless the environment says otherwise.

    On a shared machine spinning threads cost several times their work. It must be called before
    torch is imported, which is when OpenMP reads the variable.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


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


def _clean(env: Mapping[str, str], name: str) -> str:
    return env.get(name, "").strip().strip("\"'").strip()


def _list(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _clean(env, name).split(",") if part.strip())


def _credentials(env: Mapping[str, str], name: str) -> dict[str, Credentials]:
    found = {}
    for number, entry in enumerate(_list(env, name), 1):
        host, given, login = entry.partition("=")
        user, separator, password = login.partition(":")
        if not (host and given and user and separator):
            raise InvalidRequest(f"{name}: entry {number} is not HOST=USER:PASSWORD")
        found[host.strip().lower()] = Credentials(user, password)
    return found


def _proxy(env: Mapping[str, str], scheme: str) -> str:
    """The proxy of a scheme; lower case wins, as with curl; a bare host means http."""
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    url = next((text for name in names if (text := _clean(env, name))), "")
    return url if not url or "://" in url else f"http://{url}"


def _flag(env: Mapping[str, str], name: str) -> bool:
    text = _clean(env, name).lower()
    return bool(text) and text not in {"0", "f", "false"}


def _count(env: Mapping[str, str], name: str, default: int) -> int:
    text = _clean(env, name)
    return int(text) if text.isdecimal() else default


def _models_dir(env: Mapping[str, str]) -> Path:
    return Path(_clean(env, "OLLAMA_MODELS") or "~/.ollama-tts/models").expanduser()


def _folder(env: Mapping[str, str], name: str) -> Path | None:
    text = _clean(env, name)
    return Path(text).expanduser() if text else None


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    text = _clean(env, name)
    if not text:
        return default
    try:
        seconds = float(int(text)) if re.fullmatch(r"[+-]?\d+", text) else go_duration_s(text)
    except InvalidOption:
        return default
    return FOREVER_S if seconds < 0 else seconds


_GO_UNITS_S = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_GO_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([a-zµμ]*)")


def go_duration_s(text: str) -> float:
    """A Go duration (`300ms`, `1.5h`, `2h45m`, `-1m`, `0`) in seconds; time.ParseDuration's rules.

    Raises:
        InvalidOption: With Go's own wording.
    """
    quoted = '"' + text.replace('"', '\\"') + '"'
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0.0
    if not rest:
        raise InvalidOption(f"time: invalid duration {quoted}")
    total = 0.0
    position = 0
    while position < len(rest):
        match = _GO_PART.match(rest, position)
        if match is None:
            raise InvalidOption(f"time: invalid duration {quoted}")
        if not match[2]:
            raise InvalidOption(f"time: missing unit in duration {quoted}")
        if match[2] not in _GO_UNITS_S:
            raise InvalidOption(f'time: unknown unit "{match[2]}" in duration {quoted}')
        total += float(match[1]) * _GO_UNITS_S[match[2]]
        position = match.end()
    return sign * total
