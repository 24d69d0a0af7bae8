"""Traces as a collector gets them: a real OTLP receiver on loopback, a live server, its client."""

import gzip
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from typing_extensions import override

from ollama_tts.traces import SpokenRequest, make_traces
from tests.support.live import serving, settings_for

CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Intake)
        self.sent: queue.SimpleQueue[ExportTraceServiceRequest] = queue.SimpleQueue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> list[Span]:
        """All spans, when the server that sent them has gone down."""
        spans = []
        while not self.sent.empty():
            for told in self.sent.get().resource_spans:
                (service,) = [a for a in told.resource.attributes if a.key == "service.name"]
                assert service.value.string_value == "speaker-7"
                spans += [span for scope in told.scope_spans for span in scope.spans]
        return spans


class _Intake(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.sent.put(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def collecting() -> Iterator[Collector]:
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


def ask(url: str, prompt: str, **headers: str) -> int:
    body = {"model": "tone", "prompt": prompt}
    return httpx.post(f"{url}/api/generate", json=body, headers=headers, timeout=60).status_code


def test_a_request_is_one_trace_with_its_stages(tmp_path: Path) -> None:
    with collecting() as collector:
        settings = replace(
            settings_for(tmp_path), otlp_endpoint=collector.url, service_name="speaker-7"
        )
        with serving(settings) as server:
            assert ask(server.url, "Hi.", traceparent=f"00-{CALLER}-{PARENT}-01") == 200
            assert ask(server.url, "Hidden words", **{"x-request-id": "b2"}) == 200
            assert ask(server.url, "…") == 400
        spans = collector.spans()
    roots = [span for span in spans if span.kind == Span.SPAN_KIND_SERVER]
    first, second, third = roots
    assert first.trace_id.hex() == CALLER
    assert first.parent_span_id.hex() == PARENT
    assert not second.parent_span_id
    stages = [span for span in spans if span.parent_span_id == first.span_id]
    assert [span.name for span in stages][-2:] == ["first audio", "speak"]
    for stage in stages:
        assert first.start_time_unix_nano <= stage.start_time_unix_nano
        assert stage.end_time_unix_nano <= first.end_time_unix_nano
    told = [{a.key: a.value for a in root.attributes} for root in roots]
    assert [t["ollama_tts.outcome"].string_value for t in told] == ["ok", "ok", "client_error"]
    assert told[0]["gen_ai.request.model"].string_value == "tone"
    assert told[0]["ollama_tts.audio_s"].double_value > 0
    assert told[1]["ollama_tts.task_id"].string_value == "b2"
    assert "ollama_tts.first_audio_ms" not in told[2]
    assert third.name == "speak tone"
    assert not any("Hidden" in str(span) for span in spans)


def test_a_collector_that_is_not_there_costs_no_request(tmp_path: Path) -> None:
    with collecting() as collector:
        nobody = collector.url
    with serving(replace(settings_for(tmp_path), otlp_endpoint=nobody)) as server:
        assert ask(server.url, "Hi.") == 200


def test_no_endpoint_is_no_traces() -> None:
    traces = make_traces("", "x", lambda: 0)
    traces.spoken(SpokenRequest("m", "generate", "ok", "-", 1, 0, 0, None, 0, 0))
    traces.close()


@pytest.mark.parametrize(
    ("first_audio_s", "stages"),
    [
        (None, [("queue", 0.0, 1.0), ("load", 1.0, 3.0)]),
        (4.0, [("queue", 0.0, 1.0), ("load", 1.0, 3.0), ("first audio", 3.0, 4.0),
               ("speak", 4.0, 9.0)]),
    ],
)  # fmt: skip
def test_stages_follow_each_other(
    first_audio_s: float | None, stages: list[tuple[str, float, float]]
) -> None:
    spoken = SpokenRequest("m", "generate", "ok", "-", 9.0, 1.0, 2.0, first_audio_s, 1.0, 0)
    assert spoken.stages() == stages
