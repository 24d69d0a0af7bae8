"""Every metric with its unit, declared once; one registry per node.

Gauges are read from the live objects at scrape time (`watch`), never counted up and down beside
them, so a crash or a cancel cannot make them drift. Labels come from the fixed sets below.
"""

from collections.abc import Callable, Iterator
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

Outcome = Literal["ok", "client_error", "rejected", "cancelled", "failed"]
Surface = Literal[
    "generate",
    "chat",
    "openai",
    "raw",
    "sse",
    "synthesize",
    "socket",
    "grpc",
    "wyoming",
    "warm",
    "local",
]
GaugeName = Literal[
    "queue_depth", "utterances_active", "cache_bytes", "models_loaded", "batch_limit", "batch_size",
    "gpu_memory_free_bytes",
]  # fmt: skip

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30)
_MILLISECONDS = (5, 10, 20, 50, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000)
_FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 5)
_GAUGES: dict[GaugeName, tuple[str, str]] = {
    "queue_depth": ("ollama_tts_queue_depth", "Requests that wait for a model or for a place."),
    "utterances_active": ("ollama_tts_utterances_active", "Utterances being spoken."),
    "cache_bytes": ("ollama_tts_cache_bytes", "Bytes of sound in the audio cache."),
    "models_loaded": ("ollama_tts_models_loaded", "Models in memory."),
    "batch_limit": ("ollama_tts_batch_limit", "Most utterances decoded together just now."),
    "batch_size": ("ollama_batch_size", "Utterances in the decode step just run."),
    "gpu_memory_free_bytes": (
        "gpu_memory_free_bytes",
        "Free memory of the GPU in use; not read from a card yet, always 0.",
    ),
}


class _BackOffs(Collector):
    """A counter that the engines keep themselves, in their own threads."""

    def __init__(self) -> None:
        self.read: Callable[[], int] = lambda: 0

    @override
    def collect(self) -> Iterator[CounterMetricFamily]:
        text = "Times the batch limit was halved."
        yield CounterMetricFamily("ollama_tts_oom_backoffs", text, value=self.read())


class Metrics:
    """The metrics of one node; two nodes in one process never mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter(
            "requests_total", "Speech requests, each once.", ["surface", "outcome"]
        )
        self._first_audio_s = self._histogram(
            "first_audio_seconds", "From the request to its first sound.", _SECONDS
        )
        self._real_time_factor = self._histogram(
            "real_time_factor", "Time to make a sound over its length.", _FACTORS
        )
        self._queue_s = self._histogram("queue_seconds", "Time in the queue.", _SECONDS)
        self._load_s = self._histogram("load_seconds", "Time to load a model.", _SECONDS)
        self._underruns = self._counter(
            "underruns_total", "Times a listener's sound ran out before the next piece."
        )
        self._codec_steps = self._counter(
            "codec_steps_total", "Codec steps computed; sound from the cache costs none."
        )
        self._cache = self._counter("cache_requests_total", "Cache look-ups.", ["result"])
        self._splits = self._counter(
            "split_requests_total",
            "Requests to models with a `split`, by the place of the model chosen in it.",
            ["place"],
        )
        self._back_offs = _BackOffs()
        self.registry.register(self._back_offs)
        self._cancelled = self._counter("cancelled_total", "Requests whose caller left.")
        self._stream_latency_ms = Histogram(
            "chattts_stream_latency_ms",
            "From a chattts request to its first sound, in ms.",
            buckets=_MILLISECONDS,
            registry=self.registry,
        )
        self._grpc_errors = Counter(
            "grpc_stream_errors_total", "gRPC streams that ended in an error.",
            registry=self.registry,
        )  # fmt: skip
        self._gauges = {name: self._gauge(name) for name in _GAUGES}

    def _counter(self, name: str, text: str, labels: list[str] | None = None) -> Counter:
        return Counter(f"ollama_tts_{name}", text, labels or [], registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"ollama_tts_{name}", text, buckets=buckets, registry=self.registry)

    def _gauge(self, name: GaugeName) -> Gauge:
        title, text = _GAUGES[name]
        return Gauge(title, text, registry=self.registry)

    def watch(self, name: GaugeName, read: Callable[[], float]) -> None:
        """Let a gauge show what `read` gives whenever the metrics are read."""
        self._gauges[name].set_function(read)

    def request(self, surface: Surface, outcome: Outcome) -> None:
        """Count one request, under its one outcome."""
        self._requests.labels(surface, outcome).inc()
        if outcome == "cancelled":
            self._cancelled.inc()

    def first_audio(self, seconds: float, *, chattts: bool) -> None:
        """Record the time from a request to its first sound."""
        self._first_audio_s.observe(seconds)
        if chattts:
            self._stream_latency_ms.observe(seconds * 1000)

    def computed(self, steps: int) -> None:
        """Count codec steps that an engine made; sound from the cache costs none."""
        self._codec_steps.inc(steps)

    def spoken(self, *, took_s: float, audio_s: float) -> None:
        """Record a finished answer: how long it took and how long it sounds."""
        if audio_s > 0:
            self._real_time_factor.observe(took_s / audio_s)

    def underrun(self) -> None:
        """Count one gap that a listener heard."""
        self._underruns.inc()

    def queued(self, seconds: float) -> None:
        """Record a wait in the queue."""
        self._queue_s.observe(seconds)

    def loaded(self, seconds: float) -> None:
        """Record the load of a model."""
        self._load_s.observe(seconds)

    def cache(self, result: Literal["hit", "miss", "off"]) -> None:
        """Count one cache look-up."""
        self._cache.labels(result).inc()

    def split(self, place: int) -> None:
        """Count one choice of a split, of the model at `place` in it (1 to 8)."""
        self._splits.labels(str(place)).inc()

    def watch_back_offs(self, read: Callable[[], int]) -> None:
        """Let the count of halved batch limits be what `read` gives."""
        self._back_offs.read = read

    def grpc_error(self) -> None:
        """Count one gRPC stream that ended in an error."""
        self._grpc_errors.inc()

    def render(self) -> bytes:
        """All metrics in Prometheus' text format (`CONTENT_TYPE`)."""
        return generate_latest(self.registry)
