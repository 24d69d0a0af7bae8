"""The table of environment variables that `serve --help` and docs/configuration.md print."""

from dataclasses import dataclass


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
        "Most requests spoken at once per model; 0: as many as the voice has slots. While long "
        "ones speak, a quarter more (at least one) may for short ones.",
    ),
    Variable("OLLAMA_MAX_LOADED_MODELS", "0", "Most models loaded at once; 0: three per device."),
    Variable(
        "OLLAMA_MAX_QUEUE", "512",
        "Most requests that wait. One more costs the newest of the lowest priority its place, of "
        "the caller with most of them (often the newcomer itself): 503 with `Retry-After`.",
    ),
    Variable(
        "OLLAMA_TTS_MAX_QUEUE_PER_MODEL", "0", "Most that wait for one model; 0: no own limit."
    ),
    Variable(
        "OLLAMA_TTS_MAX_WAIT", "0",
        "Longest wait for a place on a loaded model, as `2s`; who would wait longer, by how fast "
        "the model has been, is answered 503 at once. 0: no limit.",
    ),
    Variable("OLLAMA_LOAD_TIMEOUT", "5m", "How long a load may take."),
    Variable("OLLAMA_ORIGINS", "", "More allowed Origins, comma separated, `*` as wildcard."),
    Variable(
        "OLLAMA_UPSTREAM", "",
        "Address of a real Ollama: requests for names that are not here go there, and its language "
        "models can be spoken.",
    ),
    Variable("OLLAMA_NOPRUNE", "0", "1: keep blobs that no manifest names."),
    Variable("OLLAMA_DEBUG", "0", "1: debug log."),
    Variable("OLLAMA_TTS_DEFAULT_MODEL", "", "Model of doors whose `model` field is optional."),
    Variable(
        "OLLAMA_TTS_API_KEY", "",
        "If set, every request needs `Authorization: Bearer KEY`; several keys by commas; "
        "a client brings the first. "
        "`sha256:HEX` stands for the key of that SHA-256.",
    ),
    Variable(
        "OLLAMA_TTS_RATE_LIMIT", "0",
        "Most requests a minute of one key (without keys: of one address), beyond which they are "
        "answered 429 with `Retry-After`; 0: no limit.",
    ),
    Variable(
        "OLLAMA_TTS_TLS_CERT", "",
        "PEM file of this server's certificate, with those between it and the root; HTTP and gRPC "
        "then speak TLS.",
    ),
    Variable("OLLAMA_TTS_TLS_KEY", "", "PEM file of that certificate's private key."),
    Variable(
        "OLLAMA_TTS_MAX_BLOB_BYTES", "68719476736", "Largest file that may be uploaded."
    ),
    Variable(
        "OLLAMA_TTS_MAX_STORE_BYTES", "0",
        "Most bytes of all models together; what would not fit is answered 507. 0: the disk's.",
    ),
    Variable(
        "OLLAMA_TTS_REQUEST_TIMEOUT", "24h",
        "How long one request that speaks, pulls, pushes or creates may take in all; a model's "
        "first sound and a slow reader have limits of their own (docs/limits.md).",
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
        "door. Extra `wyoming`. The protocol knows neither keys nor TLS.",
    ),
    Variable("OLLAMA_TTS_LOG", "text", "Log lines as `text` or `json`."),
    Variable(
        "OLLAMA_TTS_REGISTRIES", "*",
        "Registries that may be used, comma separated; `HOST=PARTNER+PARTNER` lets HOST send to "
        "other hosts for tokens and blobs.",
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
    Variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT", "",
        "OpenTelemetry collector, `http://HOST:4318`, that is sent one trace a spoken request "
        "(names, durations and counts, never the text); unset: none. Extra `otel`.",
    ),
    Variable("OTEL_SERVICE_NAME", "ollama_tts", "Name of this server in those traces."),
)  # fmt: skip
