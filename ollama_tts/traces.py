"""OpenTelemetry traces, where an endpoint is set: one span a spoken request, its stages below it.

Spans are written when a request has ended, from the times that were taken anyway, so tracing costs
a request nothing while it speaks. They hold names, durations and counts, never the text.
Attributes follow OpenTelemetry's semantic conventions for generative AI where they have a word.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ollama_tts.errors import InvalidRequest
from ollama_tts.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AttributeValue

_TIMEOUT_S = 3.0
"""How long a batch of spans may take, retries included; so long may a server's end be held up."""

traceparent: ContextVar[str] = ContextVar("traceparent", default="")
"""The caller's `traceparent` field (W3C Trace Context), set by the door that read it."""


@dataclass(frozen=True, slots=True)
class SpokenRequest:
    """What is told of one request when it has ended. Times in seconds; `None`: it never came."""

    model: str
    surface: str
    outcome: str
    task_id: str
    took_s: float
    queued_s: float
    load_s: float
    first_audio_s: float | None
    audio_s: float
    underruns: int

    def stages(self) -> list[tuple[str, float, float]]:
        """The stages as (name, begin, end), in seconds after the request came."""
        at_queue_end = self.queued_s
        at_loaded = at_queue_end + self.load_s
        stages = [("queue", 0.0, at_queue_end), ("load", at_queue_end, at_loaded)]
        if self.first_audio_s is not None:
            stages.append(("first audio", at_loaded, max(at_loaded, self.first_audio_s)))
            stages.append(("speak", self.first_audio_s, self.took_s))
        return [stage for stage in stages if stage[2] > stage[1]]

    def attributes(self) -> "dict[str, AttributeValue]":
        """What the request's span says of it."""
        found: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "text_to_speech",
            "gen_ai.request.model": self.model,
            "ollama_tts.surface": self.surface,
            "ollama_tts.outcome": self.outcome,
            "ollama_tts.task_id": self.task_id,
            "ollama_tts.audio_s": self.audio_s,
            "ollama_tts.underruns": self.underruns,
        }
        if self.first_audio_s is not None:
            found["ollama_tts.first_audio_ms"] = self.first_audio_s * 1000
        return found


class Traces(Protocol):
    """Where ended requests are told."""

    def spoken(self, request: SpokenRequest) -> None:
        """Tell one ended request."""

    def close(self) -> None:
        """Send what is not sent yet; bounded by the exporter's own time limit."""


class NoTraces:
    """Tells nobody."""

    def spoken(self, request: SpokenRequest) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class OtlpTraces:
    """Sends spans to an OTLP collector, in batches, from a thread of the SDK's.

    `now_ns` gives nanoseconds since 1970.
    """

    def __init__(self, provider: "TracerProvider", now_ns: Callable[[], int]) -> None:
        self._provider = provider
        self._tracer: Tracer = provider.get_tracer("ollama_tts", __version__)
        self._now_ns = now_ns

    def spoken(self, request: SpokenRequest) -> None:
        """Write the request's span, under the caller's where it named one, and its stages."""
        from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        end_ns = self._now_ns()
        begin_ns = end_ns - _ns(request.took_s)
        carrier = {"traceparent": traceparent.get()}
        span: Span = self._tracer.start_span(
            f"speak {request.model}",
            TraceContextTextMapPropagator().extract(carrier),
            SpanKind.SERVER,
            request.attributes(),
            start_time=begin_ns,
        )
        if request.outcome == "failed":
            span.set_status(StatusCode.ERROR)
        below = set_span_in_context(span)
        for name, begin_s, end_s in request.stages():
            stage = self._tracer.start_span(name, below, start_time=begin_ns + _ns(begin_s))
            stage.end(begin_ns + _ns(end_s))
        span.end(end_ns)

    def close(self) -> None:
        """Send what is not sent yet, and stop the thread."""
        self._provider.shutdown()


def make_traces(endpoint: str, service: str, now_ns: Callable[[], int]) -> Traces:
    """Traces to the OTLP endpoint (`http://host:4318`), or none where it is empty.

    Raises:
        InvalidRequest: The extra `otel` is not installed.
    """
    if not endpoint:
        return NoTraces()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise InvalidRequest(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and traces need the extra: "
            "pip install 'ollama-tts[otel]'"
        ) from error
    resource = Resource.create({SERVICE_NAME: service, SERVICE_VERSION: __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint.rstrip("/") + "/v1/traces", timeout=_TIMEOUT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return OtlpTraces(provider, now_ns)


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
