"""Names that are not here: what reaches the Ollama behind us, and what comes back."""

from dataclasses import replace
from pathlib import Path

import httpx
import ollama
import openai
import pytest

from ollama_tts.config import ApiKey
from tests.support.live import LiveServer, serving, settings_for
from tests.support.upstream import Bytes, Cut, FakeOllama, Refusal, Wait
from tests.support.wire import lines_of, wire

ASKED = [
    ("/api/generate", {"model": "qwen3", "prompt": "Hi"}),
    ("/api/generate", {"model": "qwen3:latest", "prompt": "", "keep_alive": 0}),
    ("/api/chat", {"model": "qwen3", "messages": [{"role": "user", "content": "Hi"}]}),
    ("/api/show", {"model": "qwen3"}),
    ("/api/show", {"model": "", "name": "qwen3"}),
    ("/api/embed", {"model": "qwen3", "input": ["a", "ü\u2028"]}),
    ("/api/embeddings", {"model": "qwen3", "prompt": "a"}),
    ("/v1/chat/completions", {"model": "qwen3", "messages": [], "stream": True}),
    ("/v1/completions", {"model": "qwen3", "prompt": "a"}),
    ("/v1/embeddings", {"model": "qwen3", "input": "a"}),
    ("/v1/responses", {"model": "qwen3", "input": "a"}),
    ("/api/embed", {"model": "nobody", "input": "a"}),
    ("/api/generate", {"model": "nobody", "prompt": "Hi"}),
]


@pytest.mark.parametrize(("path", "body"), ASKED)
def test_answers_come_back_as_they_were_given(
    shared_front: LiveServer, shared_behind: FakeOllama, path: str, body: dict[str, object]
) -> None:
    shared_behind.models["qwen3:latest"] = [
        "Good",
        Bytes(b'{"odd"  :1}\n'),
        " m\u00f6rning\u2028",
        ".",
    ]
    passed, straight = (
        httpx.post(at.url + path, json=body, timeout=60) for at in (shared_front, shared_behind)
    )
    assert passed.status_code == straight.status_code
    assert passed.content == straight.content
    assert passed.headers["content-type"] == straight.headers["content-type"]
    ours, theirs = shared_behind.asked(path)[-2:]
    assert ours.body == theirs.body


def test_header_fields_pass_but_for_those_of_a_connection(
    http: httpx.Client, behind: FakeOllama
) -> None:
    fields = {
        "Authorization": "Bearer of-the-upstream",
        "X-Asked": "yes",
        "X-Mine": "yes",
        "Connection": "keep-alive, X-Mine",
        "Keep-Alive": "timeout=5",
        "TE": "trailers",
        "Proxy-Authorization": "Basic secret",
        "Origin": "http://localhost:3000",
        "Accept-Encoding": "identity",
    }
    answer = http.post("/api/show?verbose=1", json={"model": "qwen3"}, headers=fields)
    (seen,) = behind.seen
    names = {name for name, _ in seen.headers}
    assert seen.query == "verbose=1"
    assert seen.header("authorization") == ["Bearer of-the-upstream"]
    assert seen.header("x-asked") == ["yes"]
    assert seen.header("accept-encoding") == ["identity"]
    assert seen.header("host") == [f"127.0.0.1:{behind.port}"]
    assert not names & {"x-mine", "keep-alive", "te", "proxy-authorization", "origin"}
    assert answer.status_code == 201
    assert answer.headers["x-kept"] == "yes"
    assert answer.headers["set-cookie"] == "a=b"
    assert not {"x-dropped", "keep-alive"} & set(answer.headers)
    for once in ("date", "x-request-id", "access-control-allow-origin"):
        assert len(answer.headers.get_list(once)) == 1
    assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"


def test_no_field_is_added_but_via(http: httpx.Client, behind: FakeOllama) -> None:
    body = b'{"model":"qwen3"}'
    with httpx.Client() as bare:
        url = http.base_url.join("/api/show")
        request = httpx.Request("POST", url, headers={"Host": "localhost"}, content=body)
        assert bare.send(request).status_code == 201
    (seen,) = behind.seen
    assert {name for name, _ in seen.headers} == {"host", "content-length", "via"}


def test_our_own_key_stays_here(tmp_path: Path, behind: FakeOllama) -> None:
    settings = settings_for(tmp_path / "models")
    with serving(replace(settings, upstream=behind.url, api_keys=(ApiKey.of("ours"),))) as front:
        url = f"{front.url}/api/show"
        assert httpx.post(url, json={"model": "qwen3"}).status_code == 401
        assert behind.seen == []
        fields = {"Authorization": "Bearer ours"}
        assert httpx.post(url, json={"model": "qwen3"}, headers=fields).status_code == 201
    (seen,) = behind.seen
    assert seen.header("authorization") == []


def test_each_line_passes_before_the_next_is_written(front: LiveServer, behind: FakeOllama) -> None:
    gates = [Wait(), Wait()]
    behind.models["qwen3:latest"] = ["one", gates[0], "two", gates[1], "three"]
    with wire(front.address) as connection:
        connection.post("/api/generate", {"model": "qwen3", "prompt": "Hi"})
        assert connection.head()[0] == 200
        assert b"one" in connection.chunk()
        gates[0].gate.set()
        assert b"two" in connection.chunk()
        gates[1].gate.set()
        assert b"three" in b"".join(connection.chunks())


@pytest.mark.parametrize("begun", [True, False])
def test_leaving_closes_the_request_behind_us(
    front: LiveServer, behind: FakeOllama, begun: bool
) -> None:
    behind.models["qwen3:latest"] = ["one", Wait()] if begun else [Wait()]
    with wire(front.address) as connection:
        connection.post("/api/generate", {"model": "qwen3", "prompt": "Hi"})
        if begun:
            assert connection.head()[0] == 200
            connection.chunk()
        behind.until(lambda it: len(it.seen) == 1)
    behind.until(lambda it: it.left == 1)


def test_a_stream_that_breaks_ends_in_an_error_line(http: httpx.Client, behind: FakeOllama) -> None:
    behind.models["qwen3:latest"] = ["one", Cut()]
    lines = lines_of(http.post("/api/generate", json={"model": "qwen3", "prompt": "Hi"}).content)
    assert lines[0]["response"] == "one"
    assert "broke off" in lines[-1]["error"]


def test_a_stream_that_breaks_within_a_line_ends_without_its_end_mark(
    http: httpx.Client, behind: FakeOllama
) -> None:
    behind.models["qwen3:latest"] = ["one", Bytes(b'{"half'), Cut()]
    with pytest.raises(httpx.RemoteProtocolError):
        http.post("/api/generate", json={"model": "qwen3", "prompt": "Hi"})


def test_events_that_break_end_in_an_error_of_openai(
    http: httpx.Client, behind: FakeOllama
) -> None:
    behind.models["qwen3:latest"] = ["one", Cut()]
    body = {"model": "qwen3", "messages": [], "stream": True}
    *_, last = http.post("/v1/chat/completions", json=body).text.removesuffix("\n\n").split("\n\n")
    assert last.startswith('data: {"error":{"message":')


def test_ours_are_never_passed_on(client: ollama.Client, behind: FakeOllama) -> None:
    behind.models["tone:latest"] = ["theirs"]
    assert client.generate("tone", "Hi.").response != "theirs"
    assert client.show("TONE").details is not None
    with pytest.raises(ollama.ResponseError, match="does not support embeddings"):
        client.embed("tone", "a")
    with pytest.raises(ollama.ResponseError, match="invalid model name"):
        client.generate("a/b/c/d/e", "Hi.")
    assert behind.seen == []


def test_models_are_kept_here_alone(client: ollama.Client, behind: FakeOllama) -> None:
    with pytest.raises(ollama.ResponseError) as deleting:
        client.delete("qwen3")
    assert deleting.value.status_code == 404
    with pytest.raises(ollama.ResponseError) as copying:
        client.copy("qwen3", "other")
    assert copying.value.status_code == 404
    assert behind.seen == []


def test_bodies_that_name_nothing_are_answered_here(http: httpx.Client, behind: FakeOllama) -> None:
    for body in (b"", b"[1]", b"{", b'{"model": 1}', b'{"model": ""}'):
        assert http.post("/api/chat", content=body).status_code == 400
    assert behind.seen == []


def test_lists_hold_both_ours_first(
    http: httpx.Client, client: ollama.Client, openai_client: openai.OpenAI, behind: FakeOllama
) -> None:
    behind.models["tone:latest"] = ["theirs"]
    tags = http.get("/api/tags").json()["models"]
    names = [model["name"] for model in tags]
    assert names[-1] == "qwen3:latest"
    assert names.count("tone:latest") == 1
    (theirs,) = [m for m in httpx.get(f"{behind.url}/api/tags").json()["models"]
                 if m["name"] == "qwen3:latest"]  # fmt: skip
    assert tags[-1] == theirs
    client.generate("tone", keep_alive=-1)
    assert [model.model for model in client.ps().models] == ["tone:latest", "qwen3:latest"]
    assert [model.model for model in client.list().models] == names
    assert [model.id for model in openai_client.models.list()] == names
    assert http.get("/v1/models/tone").json()["id"] == "tone"
    assert http.get("/v1/models/nobody").status_code == 404


def test_stock_clients_reach_language_models(
    client: ollama.Client, openai_client: openai.OpenAI, behind: FakeOllama
) -> None:
    assert client.generate("qwen3", "Hi", keep_alive="5m").response == "Good morning."
    parts = [part.message.content for part in client.chat("qwen3", [], stream=True)]
    assert "".join(filter(None, parts)) == "Good morning."
    stream = openai_client.chat.completions.create(
        model="qwen3", messages=[{"role": "user", "content": "Hi"}], stream=True
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "Good morning."
    behind.models["qwen3:latest"] = [Refusal(503, "server busy", {"Retry-After": "7"})]
    with pytest.raises(ollama.ResponseError, match="server busy") as busy:
        client.generate("qwen3", "Hi")
    assert busy.value.status_code == 503


def test_without_the_upstream_our_models_still_work(
    http: httpx.Client, client: ollama.Client, behind: FakeOllama,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    behind.stop()
    for _ in range(3):
        assert {"tone:latest", "hibari:latest"} <= {m.model for m in client.list().models}
    assert client.ps().models == []
    assert len([r for r in caplog.records if r.name == "ollama_tts.upstream.client"]) == 1
    assert client.generate("tone", "Hi.").done
    answer = http.post("/api/generate", json={"model": "qwen3", "prompt": "Hi"})
    assert answer.status_code == 502
    assert answer.json() == {
        "error": 'model "qwen3" is not in this store, and the Ollama behind this server '
        "(OLLAMA_UPSTREAM) does not answer"
    }
    answer = http.post("/v1/completions", json={"model": "qwen3", "prompt": "Hi"})
    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "api_error"


def test_a_list_that_does_not_come_is_not_waited_for(tmp_path: Path, behind: FakeOllama) -> None:
    behind.lists_stall = True
    with serving(replace(settings_for(tmp_path / "models"), upstream=behind.url)) as front:
        front.node.upstream._list_s = 0.5  # type: ignore[union-attr]
        assert httpx.get(f"{front.url}/api/tags", timeout=60).json()["models"]
    behind.until(lambda it: len(it.seen) == 1)


def test_without_an_upstream_unknown_names_are_unknown(tmp_path: Path) -> None:
    with serving(settings_for(tmp_path / "models")) as front:
        for path in ("/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"):
            answer = httpx.post(front.url + path, json={"model": "qwen3"})
            assert answer.status_code == 404
            assert answer.json()["error"]["code"] == "model_not_found"
            answer = httpx.post(front.url + path, json={"model": "tone"})
            assert answer.status_code == 400
            assert '"tone" does not support' in answer.json()["error"]["message"]
