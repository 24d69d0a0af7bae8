"""Every metric with its unit, declared once; one registry per node.

Gauges are read from the live objects at scrape time (`watch`), never counted up and down beside
them, so a crash or a cancel cannot make them drift. Labels come from the fixed sets below.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
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
}
NAMED_MODELS = 64
"""So many models are counted by name; those that come later together, as `other`."""


@dataclass(frozen=True, slots=True)
class Card:
    """A graphics card as it is now; `utilization` is a share of 1, None where it does not tell."""

    index: int
    free_bytes: int
    total_bytes: int
    utilization: float | None


class _BackOffs(Collector):
    """A counter that the engines keep themselves, in their own threads."""

    def __init__(self) -> None:
        self.read: Callable[[], int] = lambda: 0

    @override
    def collect(self) -> Iterator[CounterMetricFamily]:
        text = "Times the batch limit was halved."
        yield CounterMetricFamily("ollama_tts_oom_backoffs", text, value=self.read())


class _Cards(Collector):
    """Gauges of the graphics cards; without a card they have no value."""

    def __init__(self) -> None:
        self.read: Callable[[], Sequence[Card]] = tuple

    @override
    def collect(self) -> Iterator[GaugeMetricFamily]:
        cards = self.read()
        texts = {
            "gpu_memory_free_bytes": "Free memory of each card of the machine.",
            "ollama_tts_gpu_memory_total_bytes": "Memory of each card.",
            "ollama_tts_gpu_utilization_ratio": "Share of the time that a card was at work.",
        }
        free, total, share = (GaugeMetricFamily(n, t, labels=["gpu"]) for n, t in texts.items())
        for card in cards:
            label = [str(card.index)]
            free.add_metric(label, card.free_bytes)
            total.add_metric(label, card.total_bytes)
            if card.utilization is not None:
                share.add_metric(label, card.utilization)
        yield from (free, total, share)


class ModelMetrics:
    """Requests by model, for models whose option `custom_metrics` is true."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._names: set[str] = set()
        why = "Models with the option custom_metrics: "
        self._requests = Counter(
            "ollama_tts_model_requests_total", f"{why}requests, each once.",
            ["model", "outcome"], registry=registry,
        )  # fmt: skip
        self._first_audio_s = Histogram(
            "ollama_tts_model_first_audio_seconds", f"{why}from the request to its first sound.",
            ["model"], buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self._audio_s = Counter(
            "ollama_tts_model_audio_seconds_total", f"{why}seconds of sound sent.",
            ["model"], registry=registry,
        )  # fmt: skip
        self._underruns = Counter(
            "ollama_tts_model_underruns_total", f"{why}gaps that listeners heard.",
            ["model"], registry=registry,
        )  # fmt: skip

    def spoken(
        self, model: str, outcome: Outcome, *, first_s: float | None, audio_s: float, gaps: int
    ) -> None:
        """Count one request to a stored model, and what was heard of it."""
        if model not in self._names and len(self._names) >= NAMED_MODELS:
            model = "other"
        self._names.add(model)
        self._requests.labels(model, outcome).inc()
        if first_s is not None:
            self._first_audio_s.labels(model).observe(first_s)
        self._audio_s.labels(model).inc(audio_s)
        self._underruns.labels(model).inc(gaps)


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
        self._cards = _Cards()
        self.registry.register(self._cards)
        self.by_model = ModelMetrics(self.registry)
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

    def watch_cards(self, read: Callable[[], Sequence[Card]]) -> None:
        """Let the gauges of graphics cards show what `read` gives."""
        self._cards.read = read

    def grpc_error(self) -> None:
        """Count one gRPC stream that ended in an error."""
        self._grpc_errors.inc()

    def render(self) -> bytes:
        """All metrics in Prometheus' text format (`CONTENT_TYPE`)."""
        return generate_latest(self.registry)
