"""All settings of one node, and which variable each is read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ollama_tts.config.address import DEFAULT_PORT, Address, parse_address
from ollama_tts.config.api_keys import ApiKey
from ollama_tts.config.environment import Environment
from ollama_tts.config.roads import Certificate, Credentials, Proxies

DEFAULT_ADDRESS = Address("127.0.0.1", DEFAULT_PORT)
NO_PROXIES = Proxies()
DEFAULT_GRPC_PORT = 50051
DEFAULT_WYOMING_PORT = 10200
DEFAULT_HUB = "https://huggingface.co"
MAX_JSON_BYTES = 4 * 1024**2
MAX_BLOB_BYTES = 64 * 1024**3
REQUEST_TIMEOUT_S = 86_400.0
MAX_PASSED_BYTES = 64 * 1024**2  # language models are sent pictures


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one node. Times in seconds, sizes in bytes."""

    address: Address = DEFAULT_ADDRESS
    models_dir: Path = Path("~/.ollama-tts/models")
    keep_alive_s: float = 300.0
    num_parallel: int = 0
    max_loaded_models: int = 0
    max_queue: int = 512
    max_queue_per_model: int = 0
    max_wait_s: float = 0.0
    load_timeout_s: float = 300.0
    origins: tuple[str, ...] = ()
    upstream: str = ""
    prune: bool = True
    debug: bool = False
    default_model: str = ""
    api_keys: tuple[ApiKey, ...] = ()
    rate_limit: int = 0
    tls: Certificate | None = None
    allowed_hosts: tuple[str, ...] = ()
    log_format: str = "text"
    cache_bytes: int = 128 * 1024**2
    cache_dir: Path | None = None
    cache_disk_bytes: int = 2 * 1024**3
    grpc_address: Address | None = None
    wyoming_address: Address | None = None
    max_json_bytes: int = MAX_JSON_BYTES
    max_text_chars: int = 1_000_000
    max_blob_bytes: int = MAX_BLOB_BYTES
    max_store_bytes: int = 0
    header_timeout_s: float = 10.0
    body_timeout_s: float = 60.0
    request_timeout_s: float = REQUEST_TIMEOUT_S
    registries: tuple[str, ...] = ("*",)
    registry_auth: Mapping[str, Credentials] = field(default_factory=dict)
    hub_endpoint: str = DEFAULT_HUB
    hub_token: str = field(default="", repr=False)
    proxies: Proxies = NO_PROXIES
    otlp_endpoint: str = ""
    service_name: str = "ollama_tts"
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
        env = Environment(environ)
        upstream = env.server_url("OLLAMA_UPSTREAM")
        return cls(
            address=parse_address(env.text("OLLAMA_HOST")),
            models_dir=env.path("OLLAMA_MODELS") or Path("~/.ollama-tts/models").expanduser(),
            keep_alive_s=env.seconds("OLLAMA_KEEP_ALIVE", 300.0),
            num_parallel=env.count("OLLAMA_NUM_PARALLEL", 0),
            max_loaded_models=env.count("OLLAMA_MAX_LOADED_MODELS", 0),
            max_queue=env.count("OLLAMA_MAX_QUEUE", 512),
            max_queue_per_model=env.count("OLLAMA_TTS_MAX_QUEUE_PER_MODEL", 0),
            max_wait_s=env.seconds("OLLAMA_TTS_MAX_WAIT", 0.0),
            load_timeout_s=env.seconds("OLLAMA_LOAD_TIMEOUT", 300.0),
            origins=env.words("OLLAMA_ORIGINS"),
            upstream=upstream,
            max_json_bytes=MAX_PASSED_BYTES if upstream else MAX_JSON_BYTES,
            max_blob_bytes=env.count("OLLAMA_TTS_MAX_BLOB_BYTES", MAX_BLOB_BYTES),
            max_store_bytes=env.count("OLLAMA_TTS_MAX_STORE_BYTES", 0),
            request_timeout_s=env.seconds("OLLAMA_TTS_REQUEST_TIMEOUT", REQUEST_TIMEOUT_S),
            prune=not env.flag("OLLAMA_NOPRUNE"),
            debug=env.flag("OLLAMA_DEBUG"),
            default_model=env.text("OLLAMA_TTS_DEFAULT_MODEL"),
            api_keys=tuple(ApiKey.of(text) for text in env.words("OLLAMA_TTS_API_KEY")),
            rate_limit=env.count("OLLAMA_TTS_RATE_LIMIT", 0),
            tls=env.certificate("OLLAMA_TTS_TLS_CERT", "OLLAMA_TTS_TLS_KEY"),
            allowed_hosts=env.words("OLLAMA_TTS_ALLOWED_HOSTS"),
            cache_bytes=env.count("OLLAMA_TTS_CACHE_BYTES", 128 * 1024**2),
            cache_dir=env.path("OLLAMA_TTS_CACHE_DIR"),
            cache_disk_bytes=env.count("OLLAMA_TTS_CACHE_DISK_BYTES", 2 * 1024**3),
            grpc_address=env.door("OLLAMA_TTS_GRPC_HOST", DEFAULT_GRPC_PORT),
            wyoming_address=env.door("OLLAMA_TTS_WYOMING_HOST", DEFAULT_WYOMING_PORT),
            log_format="json" if env.text("OLLAMA_TTS_LOG") == "json" else "text",
            registries=env.words("OLLAMA_TTS_REGISTRIES") or ("*",),
            registry_auth=env.credentials("OLLAMA_TTS_REGISTRY_AUTH"),
            hub_endpoint=env.text("HF_ENDPOINT").rstrip("/") or DEFAULT_HUB,
            hub_token=env.text("HF_TOKEN"),
            proxies=env.proxies(),
            otlp_endpoint=env.text("OTEL_EXPORTER_OTLP_ENDPOINT"),
            service_name=env.text("OTEL_SERVICE_NAME") or "ollama_tts",
        )
