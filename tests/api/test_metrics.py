"""Metrics over the wire: true under cancels, with labels from fixed sets alone."""

import re

import httpx

from ollama_tts.metrics import NAMED_MODELS, Metrics
from tests.support.live import LiveServer


def series(http: httpx.Client) -> dict[str, float]:
    text = http.get("/metrics").text
    found = re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


CONTRACT = (
    "ollama_batch_size",
    "chattts_stream_latency_ms_count",
    "grpc_stream_errors_total",
    "ollama_tts_first_audio_seconds_count",
    "ollama_tts_real_time_factor_count",
    "ollama_tts_underruns_total",
    "ollama_tts_queue_depth",
    "ollama_tts_queue_seconds_count",
    "ollama_tts_utterances_active",
    "ollama_tts_codec_steps_total",
    "ollama_tts_cache_bytes",
    "ollama_tts_models_loaded",
    "ollama_tts_load_seconds_count",
    "ollama_tts_oom_backoffs_total",
    "ollama_tts_batch_limit",
    "ollama_tts_cancelled_total",
)


def test_every_promised_metric_is_there(own_http: httpx.Client) -> None:
    own_http.post("/api/generate", json={"model": "tone", "prompt": "a", "stream": False})
    found = series(own_http)
    assert [name for name in CONTRACT if name not in found] == []
    assert found['ollama_tts_requests_total{outcome="ok",surface="generate"}'] == 1
    assert found['ollama_tts_cache_requests_total{result="miss"}'] == 1
    assert found["ollama_tts_models_loaded"] == 1
    assert "# TYPE gpu_memory_free_bytes gauge" in own_http.get("/metrics").text


def test_traffic_makes_no_series(own_http: httpx.Client) -> None:
    body = {"model": "tone", "prompt": "a", "stream": False}
    own_http.post("/api/generate", json=body)
    own_http.post("/api/generate", json={**body, "model": "nobody"})
    before = set(series(own_http))
    for number in range(60):
        own_http.get(f"/nowhere/{number}")
        own_http.post("/api/generate", json={**body, "model": f"nobody-{number}"})
        own_http.post("/api/generate", json={**body, "prompt": f"text {number}"})
        own_http.post(
            "/v1/audio/speech", json={"model": "tone", "input": "x", "voice": f"v{number}"}
        )
    after = set(series(own_http))
    assert len(after - before) <= 6
    assert not [name for name in after if "nobody-" in name or "text" in name or "v1" in name]


def test_each_request_counts_once_whatever_becomes_of_it(
    live: LiveServer, own_http: httpx.Client
) -> None:
    def counted() -> dict[str, float]:
        return {
            outcome: live.metric("ollama_tts_requests_total", surface="generate", outcome=outcome)
            for outcome in ("ok", "client_error", "rejected", "cancelled", "failed")
        }

    own_http.post("/api/generate", json={"model": "tone", "prompt": "a", "stream": False})
    own_http.post("/api/generate", json={"model": "tone", "prompt": "a", "options": {"speed": 9}})
    own_http.post("/api/generate", json={"model": "tone", "prompt": "…"})
    slow = {"model": "tone", "prompt": "a long text. " * 50, "options": {"tone_rate": 1.0}}
    with own_http.stream("POST", "/api/generate", json=slow) as answer:
        next(answer.iter_lines())
    live.until(lambda node: node.scheduler.active == 0)
    expected = {"ok": 1, "client_error": 2, "rejected": 0, "cancelled": 1, "failed": 0}
    live.until(
        lambda node: node.metrics.registry.get_sample_value("ollama_tts_cancelled_total") == 1
    )
    assert counted() == expected


def test_models_with_custom_metrics_are_counted_by_name(
    live: LiveServer, own_http: httpx.Client
) -> None:
    for name, wanted in (("counted", True), ("plain", False)):
        made = {"model": name, "from": "tone", "parameters": {"custom_metrics": wanted}}
        assert own_http.post("/api/create", json={**made, "stream": False}).is_success
        body: dict[str, object] = {"model": name, "prompt": "Count me.", "stream": False}
        own_http.post("/api/generate", json=body)
        own_http.post("/api/generate", json={**body, "prompt": "…"})
    found = {name: value for name, value in series(own_http).items() if "_model_" in name}
    assert not [name for name in found if "plain" in name]
    requests = "ollama_tts_model_requests_total"
    assert found[f'{requests}{{model="counted:latest",outcome="ok"}}'] == 1
    assert found[f'{requests}{{model="counted:latest",outcome="client_error"}}'] == 1
    assert found['ollama_tts_model_first_audio_seconds_count{model="counted:latest"}'] == 1
    assert found['ollama_tts_model_audio_seconds_total{model="counted:latest"}'] > 0.3


def test_more_names_than_are_kept_are_counted_together() -> None:
    metrics = Metrics()
    for number in range(NAMED_MODELS + 10):
        metrics.by_model.spoken(f"m{number}", "ok", first_s=None, audio_s=1.0, gaps=0)
    labels = {"model": "other", "outcome": "ok"}
    assert metrics.registry.get_sample_value("ollama_tts_model_requests_total", labels) == 10
