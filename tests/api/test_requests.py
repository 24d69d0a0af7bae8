"""What clients send, rightly and wrongly, to generate and chat (pc-046, 051 to 055, 049)."""

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.wire import lines_of, wire

HI = "Hi there friend."


def ps(http: httpx.Client) -> list[dict[str, Any]]:
    models: list[dict[str, Any]] = http.get("/api/ps").json()["models"]
    return models


def generate(http: httpx.Client, **fields: object) -> httpx.Response:
    return http.post("/api/generate", json={"model": "tone", "stream": False, **fields})


@pytest.mark.parametrize("value", [-1, "-1s", "-1m", 1e12, "99999999h"])
def test_keep_alive_for_ever(value: object, own_http: httpx.Client) -> None:
    assert generate(own_http, prompt=HI, keep_alive=value).status_code == 200
    [model] = ps(own_http)
    expires = datetime.fromisoformat(model["expires_at"])
    assert datetime.now(UTC) + timedelta(days=365 * 20) < expires
    assert expires.year <= 9999


@pytest.mark.parametrize(
    ("value", "seconds"), [(3000, 3000), ("50m", 3000), ("1h30m", 5400), (4000.5, 4000.5)]
)
def test_keep_alive_for_a_while(value: object, seconds: float, own_http: httpx.Client) -> None:
    before = datetime.now(UTC)
    assert generate(own_http, prompt=HI, keep_alive=value).status_code == 200
    [model] = ps(own_http)
    expires = datetime.fromisoformat(model["expires_at"])
    assert before + timedelta(seconds=seconds - 1) <= expires
    assert expires <= datetime.now(UTC) + timedelta(seconds=seconds + 1)


@pytest.mark.parametrize("value", [0, "0", "0s", 0.0])
def test_keep_alive_of_nothing_unloads_after_the_answer(
    value: object, live: LiveServer, own_http: httpx.Client
) -> None:
    answer = generate(own_http, prompt=HI, keep_alive=value)
    assert answer.json()["done_reason"] == "stop"
    live.until(lambda node: not node.scheduler.loaded())


@pytest.mark.parametrize("value", ["-1", "30", "", "abc", True, {"x": 1}, []])
def test_a_keep_alive_that_cannot_be_meant_is_refused_and_loads_nothing(
    value: object, own_http: httpx.Client
) -> None:
    answer = generate(own_http, prompt=HI, keep_alive=value)
    assert answer.status_code == 400
    assert "keep_alive takes seconds as a number" in answer.json()["error"]
    assert ps(own_http) == []


def test_a_request_without_a_prompt_loads(own_http: httpx.Client) -> None:
    for stream in (True, False):
        answer = generate(own_http, stream=stream)
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        body = answer.json()
        stamp = body.pop("created_at")
        assert stamp.endswith("Z")
        assert body == {"model": "tone", "response": "", "done": True, "done_reason": "load"}
    assert [model["name"] for model in ps(own_http)] == ["tone:latest"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/generate", {"model": "tone", "keep_alive": 0}),
        ("/api/generate", {"model": "tone", "keep_alive": 0, "options": {"num_gpu": "all"}}),
        ("/api/chat", {"model": "tone", "messages": [], "keep_alive": 0}),
        ("/api/chat", {"model": "tone", "keep_alive": "0s"}),
    ],
)
def test_an_unload_unloads_even_where_options_are_wrong(
    path: str, body: dict[str, Any], own_http: httpx.Client
) -> None:
    generate(own_http)
    answer = own_http.post(path, json=body).json()
    assert (answer["done"], answer["done_reason"]) == (True, "unload")
    assert ps(own_http) == []
    assert own_http.post(path, json=body).json()["done_reason"] == "unload"  # nothing is loaded


def test_a_prompt_in_the_wrong_field_is_told_in_the_log(
    own_http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "ollama_tts"):
        answer = generate(own_http, messages=[{"role": "user", "content": "hi"}])
    assert answer.json()["done_reason"] == "load"
    told = [message for message in caplog.messages if "fields not used" in message]
    assert told == ["GenerateRequest: fields not used: messages"]


@pytest.mark.parametrize(
    "content_type", ["application/x-www-form-urlencoded", "text/json; charset=utf-8", "", "x"]
)
def test_any_content_type_is_taken(content_type: str, http: httpx.Client) -> None:
    body = json.dumps({"model": "tone"}).encode()
    answer = http.post("/api/generate", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == 200


def test_no_content_type_is_taken(shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        connection.post("/api/generate", {"model": "tone"})
        assert connection.answer()[0] == 200


BROKEN = [
    b"", b'{"model":"tone",', b"{'model':'tone'}", b"[]", b'"text"', b"5", b"{",
    b'{"prompt":5}', b'{"stream":"false"}', b"\x00", b"\xff\xfe{}",
    b"[" * 100_000,
]  # fmt: skip
POSTS = [
    "/api/generate", "/api/chat", "/api/show", "/api/copy", "/api/create", "/api/pull", "/api/push",
    "/api/embed", "/api/embeddings",
]  # fmt: skip


@pytest.mark.parametrize("path", [*POSTS, "/api/delete"])
@pytest.mark.parametrize("body", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_body_is_a_400_with_a_reason_on_every_route(
    path: str, body: bytes, http: httpx.Client
) -> None:
    method = "DELETE" if path == "/api/delete" else "POST"
    answer = http.request(method, path, content=body)
    assert answer.status_code in {400, 404}  # 404: the field that is wrong is none of this route
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert list(answer.json()) == ["error"]
    assert http.get("/api/version").status_code == 200


@pytest.mark.parametrize(
    "options",
    [{"tfs_z": 1.0}, {"keep_alive": "5m"}, {"seed": 1.0}, {"stop": "a"}, {"num_gpu": 0},
     {"num_gpu": 1}, {"speed": None}, {"no_such_option": {"a": 1}}],
)  # fmt: skip
def test_options_that_are_unknown_or_mean_nothing_are_passed_over(
    options: dict[str, Any], http: httpx.Client
) -> None:
    assert generate(http, prompt=HI, options=options).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("num_gpu", "all"), ("seed", "x"), ("seed", 1.5), ("voice", 3), ("speed", 9),
     ("audio_format", "xyz"), ("num_predict", 1e300), ("num_ctx", 10**12), ("cache", "yes")],
)  # fmt: skip
def test_an_option_of_a_wrong_type_or_size_is_a_400_that_names_it(
    name: str, value: object, http: httpx.Client
) -> None:
    answer = generate(http, prompt=HI, options={name: value})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(f"option {name!r} must be ")


def test_huge_counts_are_harmless(http: httpx.Client) -> None:
    options = {"num_predict": 10**12, "stop": ["x"] * 100_000}
    assert generate(http, prompt=HI, options=options).status_code == 200


@pytest.mark.parametrize("value", [-1, 21])
def test_top_logprobs_has_ollamas_bounds(value: int, http: httpx.Client) -> None:
    answer = generate(http, prompt=HI, top_logprobs=value)
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "top_logprobs must be between 0 and 20"},
    )


def test_think_and_tools_are_refused_as_ollama_does(http: httpx.Client) -> None:
    answer = generate(http, prompt=HI, think="low")
    assert answer.json() == {"error": '"tone" does not support thinking'}
    body = {"model": "tone", "messages": [{"role": "user", "content": "x"}], "tools": [{}]}
    answer = http.post("/api/chat", json=body)
    assert answer.status_code == 400
    words = "registry.ollama.ai/library/tone:latest does not support tools"
    assert answer.json() == {"error": words}


def test_format_may_be_anything(http: httpx.Client) -> None:
    for value in ("", "json", {"type": "object"}, None):
        assert generate(http, prompt=HI, format=value).status_code == 200


@pytest.mark.parametrize("path", ["//api/generate", "/api/generate/", "//api///generate//"])
def test_slashes_too_many_are_served_as_if_they_were_right(path: str, shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        connection.post(path, {"model": "tone"})
        status, _, body = connection.answer()
    assert status == 200
    assert json.loads(body)["done_reason"] == "load"


def test_slashes_too_many_on_v1(shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        connection.post("/v1//audio/speech", {"model": "tone", "input": HI})
        status, fields, _ = connection.answer()
    assert (status, fields["content-type"]) == (200, "audio/mpeg")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/generate", "POST"),
        ("POST", "/api/tags", "GET"),
        ("PUT", "/api/blobs/sha256:0", "POST"),
        ("GET", "/v1/audio/speech", "POST"),
    ],
)
def test_a_wrong_method_is_a_405_that_tells_the_right_one(
    method: str, path: str, allowed: str, http: httpx.Client
) -> None:
    answer = http.request(method, path)
    assert answer.status_code == 405
    assert allowed in answer.headers["allow"].replace(" ", "").split(",")
    assert "405 method not allowed" in answer.text
    assert "error" in answer.json()


def test_an_unknown_route_is_a_404_in_json(http: httpx.Client) -> None:
    answer = http.get("/api/nope")
    assert (answer.status_code, answer.json()) == (404, {"error": "404 page not found"})
    assert http.get("/v1/nope").json()["error"]["type"] == "not_found_error"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/pull", {"model": "tone"}),
        ("/api/create", {"model": "mine", "from": "tone", "parameters": {"speed": 1.5}}),
    ],
)
def test_progress_ends_in_exactly_one_success(
    path: str, body: dict[str, Any], stream: bool, own_http: httpx.Client
) -> None:
    answer = own_http.post(path, json={**body, "stream": stream})
    if not stream:
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == {"status": "success"}
        return
    assert answer.headers["content-type"] == "application/x-ndjson"
    statuses = [line["status"] for line in lines_of(answer.content)]
    assert statuses.count("success") == 1
    assert statuses[-1] == "success"


def test_a_late_failure_of_pull_is_the_last_line(http: httpx.Client) -> None:
    *_, last = lines_of(http.post("/api/pull", json={"model": "nobody/nothing"}).content)
    assert list(last) == ["error"]
    assert last["error"].startswith("pull model manifest: ")


def test_lists_are_never_null_and_entries_complete(own_http: httpx.Client) -> None:
    assert own_http.get("/api/ps").json() == {"models": []}
    for name in ("tone", "hibari", "kokoro"):
        own_http.request("DELETE", "/api/delete", json={"model": name})
    assert own_http.get("/api/tags").json() == {"models": []}
    assert own_http.get("/v1/models").json() == {"object": "list", "data": []}
    assert own_http.post("/api/pull", json={"model": "tone", "stream": False}).is_success
    [entry] = own_http.get("/api/tags").json()["models"]
    assert entry["name"] == entry["model"] == "tone:latest"
    assert len(entry["digest"]) == 64
    assert isinstance(entry["size"], int)
    assert datetime.fromisoformat(entry["modified_at"]).tzinfo is not None
    assert all(isinstance(value, str | list) for name, value in entry["details"].items()
               if name not in {"context_length", "embedding_length"})  # fmt: skip


@pytest.mark.parametrize("path", ["/api/embed", "/api/embeddings"])
def test_voices_make_no_embeddings(path: str, http: httpx.Client) -> None:
    for name, status, words in (
        ("tone", 400, '"tone" does not support embeddings'),
        ("nope", 404, 'model "nope" not found, try pulling it first'),
        ("../x", 400, "invalid model name"),
    ):
        answer = http.post(path, json={"model": name, "input": "x", "prompt": "x"})
        assert (answer.status_code, answer.json()) == (status, {"error": words})


def test_a_draining_server_says_that_it_is_not_ready(
    live: LiveServer, own_http: httpx.Client
) -> None:
    assert own_http.get("/readyz").status_code == 200
    live.read(lambda node: node.drain())
    answer = own_http.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
    assert own_http.get("/healthz").status_code == 200


def test_metrics_are_in_prometheus_format(http: httpx.Client) -> None:
    answer = http.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE ollama_tts_requests_total counter" in answer.text


def test_accounts_are_refused_so_that_push_stops(http: httpx.Client) -> None:
    answer = http.post("/api/me")
    assert (answer.status_code, answer.json()) == (503, {"error": "account unavailable"})


def test_a_template_that_multiplies_is_refused_before_it_is_written(http: httpx.Client) -> None:
    body = {"model": "tone", "prompt": "a", "system": "{{ .System }}" * 1000,
            "template": "{{ .System }}" * 5000}  # fmt: skip
    answer = http.post("/api/generate", json=body)
    assert answer.status_code == 413
    assert "template and system" in answer.json()["error"]
    long = {"model": "tone", "prompt": "a", "system": "s" * 1_500_000}
    assert http.post("/api/generate", json=long).status_code == 413


def test_an_endless_speed_is_refused_like_any_other(http: httpx.Client) -> None:
    body = '{"model":"tone","input":"a","voice":"tone","speed":1' + "0" * 400 + "}"
    answer = http.post("/v1/audio/speech", content=body)
    assert answer.status_code == 400
    assert "'speed'" in answer.json()["error"]["message"]
