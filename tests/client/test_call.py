import httpx
import pytest
from hypothesis import given, strategies as st

from ollama_tts import errors
from ollama_tts.client.call import Lines, Target, failure
from ollama_tts.server.http.errors import STATUS


@pytest.mark.parametrize("kind", STATUS)
def test_a_status_comes_back_as_what_it_was(kind: type[errors.OllamaTTSError]) -> None:
    found = failure(httpx.Response(STATUS[kind], json={"error": "because"}))
    assert str(found) == "because"
    alike = {other for other, status in STATUS.items() if status == STATUS[kind]}
    assert isinstance(found, tuple(alike)) or STATUS[kind] == 500


def test_retry_after_is_read() -> None:
    found = failure(httpx.Response(503, json={"error": "full"}, headers={"Retry-After": "7"}))
    assert isinstance(found, errors.Busy)
    assert found.retry_after_s == 7


@pytest.mark.parametrize("value", ["", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "-3"])
def test_an_unreadable_retry_after_is_a_second(value: str) -> None:
    found = failure(httpx.Response(503, text="x", headers={"Retry-After": value}))
    assert isinstance(found, errors.Busy)
    assert found.retry_after_s == 1


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (httpx.Response(500, text="a page\n"), "a page"),
        (httpx.Response(404), "404 Not Found"),
        (httpx.Response(418, json=["not", "an", "object"]), '["not","an","object"]'),
    ],
)
def test_a_failure_without_our_body_still_says_something(
    response: httpx.Response, text: str
) -> None:
    assert str(failure(response)) == text


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_how_they_arrive(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"\n".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    reader = Lines()
    found = [line for piece in pieces for line in reader.feed(piece)] + reader.finish()
    assert found == [line for line in lines if line.strip()]


def test_only_line_feeds_part_lines() -> None:
    reader = Lines()
    assert reader.feed('{"a":"\u2028\x85\r"}\n'.encode()) == ['{"a":"\u2028\x85\r"}'.encode()]


@pytest.mark.parametrize(
    ("host", "proxies"),
    [("127.0.0.1", False), ("localhost:9", False), ("[::1]:9", False), ("0.0.0.0", False),
     (":9", False), ("speech.example:9", True), ("10.0.0.7", True)],
)  # fmt: skip
def test_proxies_never_stand_before_this_machine(host: str, proxies: bool) -> None:
    assert Target.choose(host, None).trust_env is proxies


def test_arguments_go_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "speech.example:1234")
    monkeypatch.setenv("OLLAMA_TTS_API_KEY", "one,two")
    monkeypatch.setenv("OLLAMA_TTS_DEFAULT_MODEL", "narrator")
    chosen = Target.choose(None, None)
    assert chosen.address.url == "http://speech.example:1234"
    assert chosen.headers["Authorization"] == "Bearer one"
    assert chosen.default_model == "narrator"
    given_ones = Target.choose("other.example:1", "mine")
    assert given_ones.address.url == "http://other.example:1"
    assert given_ones.headers["Authorization"] == "Bearer mine"
    assert "Authorization" not in Target.choose(None, "").headers
