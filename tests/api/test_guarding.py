"""Who may ask, from where, how much and how slowly (pc-058, 060, 076)."""

import hashlib
import json
import re
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from ollama_tts.config import Address, ApiKey, Settings
from tests.support.live import LiveServer, serving, settings_for
from tests.support.wire import wire

ASKED = "content-type,authorization,x-stainless-lang"
HI = {"model": "tone", "input": "Hi."}


def preflight(url: str, origin: str) -> httpx.Response:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": ASKED,
    }
    return httpx.options(f"{url}/v1/audio/speech", headers=headers)


LOCAL_ORIGINS = [
    "http://localhost", "http://localhost:3000", "https://localhost:8443", "http://127.0.0.1:5173",
    "http://[::1]:3000", "http://0.0.0.0:1", "app://obsidian.md", "tauri://localhost",
    "vscode-webview://abc", "file://",
]  # fmt: skip
FOREIGN_ORIGINS = [
    "https://evil.example", "chrome-extension://abcdefghijklmnop", "null",
    "http://localhost.evil.example", "http://localhost:3000.evil.example", "https://127.0.0.1.nip.io",
]  # fmt: skip


@pytest.mark.parametrize("origin", LOCAL_ORIGINS)
def test_local_origins_pass(origin: str, shared: LiveServer) -> None:
    answer = preflight(shared.url, origin)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == origin
    assert "POST" in answer.headers["access-control-allow-methods"].split(",")
    assert answer.headers["access-control-allow-headers"] == ASKED
    assert answer.headers["access-control-max-age"] == "43200"
    assert "access-control-allow-credentials" not in answer.headers
    spoken = httpx.post(f"{shared.url}/v1/audio/speech", json=HI, headers={"Origin": origin})
    assert spoken.status_code == 200
    assert spoken.headers["access-control-allow-origin"] == origin
    assert spoken.headers["vary"] == "Origin"


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.parametrize("method", ["OPTIONS", "POST", "GET"])
def test_foreign_origins_are_refused_by_the_name_of_the_setting(
    origin: str, method: str, shared: LiveServer
) -> None:
    if method == "OPTIONS":
        answer = preflight(shared.url, origin)
    else:
        path = "/v1/audio/speech" if method == "POST" else "/v1/models"
        answer = httpx.request(method, shared.url + path, json=HI, headers={"Origin": origin})
    assert answer.status_code == 403
    assert "OLLAMA_ORIGINS" in answer.json()["error"]["message"]
    assert origin in answer.json()["error"]["message"]
    assert "access-control-allow-origin" not in answer.headers


def test_listed_origins_pass_wildcards_included(tmp_path: Path) -> None:
    listed = ("https://ok.example", "chrome-extension://*", "https://*.mine.example")
    with serving(replace(settings_for(tmp_path / "models"), origins=listed)) as server:
        for origin in ("https://ok.example", FOREIGN_ORIGINS[1], "https://a.mine.example"):
            assert preflight(server.url, origin).status_code == 204
        assert preflight(server.url, "https://not-ok.example").status_code == 403


def test_a_wildcard_for_all_never_comes_with_credentials(tmp_path: Path) -> None:
    with serving(replace(settings_for(tmp_path / "models"), origins=("*",))) as server:
        answer = preflight(server.url, "https://anywhere.example")
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


def test_no_origin_and_the_own_origin_pass(shared: LiveServer) -> None:
    assert httpx.get(f"{shared.url}/api/version").status_code == 200
    own = httpx.get(f"{shared.url}/api/version", headers={"Origin": shared.url})
    assert own.status_code == 200


def test_a_refusal_is_readable_by_the_origin_that_is_allowed(shared: LiveServer) -> None:
    answer = httpx.post(f"{shared.url}/api/show", headers={"Origin": "http://localhost:1"})
    assert answer.status_code == 400
    assert answer.headers["access-control-allow-origin"] == "http://localhost:1"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:11434", "localhost.evil.example"])
def test_a_rebound_host_name_is_refused_on_loopback(host: str, shared: LiveServer) -> None:
    answer = httpx.get(f"{shared.url}/api/tags", headers={"Host": host})
    assert answer.status_code == 403
    assert "OLLAMA_TTS_ALLOWED_HOSTS" in answer.json()["error"]


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "192.168.1.5:11434", "x.localhost",
     "printer.local", "gpu.internal", socket.gethostname()],
)  # fmt: skip
def test_local_host_names_and_addresses_pass(host: str, shared: LiveServer) -> None:
    assert httpx.get(f"{shared.url}/api/tags", headers={"Host": host}).status_code == 200


def test_listed_host_names_pass(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), allowed_hosts=("tts.example", "*.lan"))
    with serving(settings) as server:
        for host, status in (("tts.example:443", 200), ("a.lan", 200), ("b.example", 403)):
            answer = httpx.get(f"{server.url}/api/tags", headers={"Host": host})
            assert answer.status_code == status


def test_on_a_public_address_only_browsers_must_come_by_a_known_name(tmp_path: Path) -> None:
    """A container network has its own names; a rebound name comes with a browser's Origin."""
    settings = replace(settings_for(tmp_path / "models"), address=Address("0.0.0.0", 0))
    with serving(settings) as server:
        url = f"http://127.0.0.1:{server.address.port}"
        program = httpx.get(f"{url}/api/tags", headers={"Host": "ollama-tts:11434"})
        assert program.status_code == 200
        rebound = {"Host": "evil.example", "Origin": "http://evil.example"}
        answer = httpx.post(f"{url}/api/generate", json={"model": "tone"}, headers=rebound)
        assert answer.status_code == 403
        assert "OLLAMA_TTS_ALLOWED_HOSTS" in answer.json()["error"]


KEYS = ("first-key", "second-key")


@pytest.fixture
def keyed(tmp_path: Path) -> Settings:
    return replace(settings_for(tmp_path / "models"), api_keys=tuple(map(ApiKey.of, KEYS)))


def test_with_keys_every_request_needs_one(keyed: Settings) -> None:
    with serving(keyed) as server:
        for path in ("/", "/api/tags", "/metrics", "/v1/models", "/nope"):
            answer = httpx.get(server.url + path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "OLLAMA_TTS_API_KEY" in answer.text
            for key in KEYS:
                headers = {"Authorization": f"Bearer {key}"}
                assert httpx.get(server.url + path, headers=headers).status_code in {200, 404}


@pytest.mark.parametrize(
    "value", [b"Bearer wrong", b"Bearer", b"first-key", b"Basic first-key", b"Bearer \xe9"]
)
def test_a_wrong_key_is_refused(value: bytes, keyed: Settings) -> None:
    with serving(keyed) as server:
        headers = {b"Authorization": value}
        assert httpx.get(f"{server.url}/api/tags", headers=headers).status_code == 401


def test_preflights_probes_and_the_page_need_no_key(keyed: Settings) -> None:
    with serving(keyed) as server:
        assert preflight(server.url, "http://localhost:1").status_code == 204
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        assert httpx.get(f"{server.url}/readyz").json() == {"status": "ready"}
        assert httpx.get(f"{server.url}/ui/").status_code == 200


def test_a_body_that_is_announced_too_large_is_refused_unread(shared: LiveServer) -> None:
    size = 64 * 1024 * 1024
    with wire(shared.address) as connection:
        head = f"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
        connection.send(head.encode())
        status, fields, body = connection.answer()
    assert status == 413
    assert fields["connection"] == "close"
    assert json.loads(body) == {"error": f"the request's body is larger than {4 * 1024**2} bytes"}


def test_a_body_without_a_length_is_refused_at_the_limit(shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        connection.send(
            b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        for _ in range(5):
            connection.send(chunk)
        assert connection.head()[0] == 413


def test_a_caller_who_sends_all_of_a_large_body_reads_the_refusal(shared: LiveServer) -> None:
    body = {"model": "tone", "prompt": "x" * (48 * 1024 * 1024)}
    answer = httpx.post(f"{shared.url}/api/generate", json=body, timeout=60)
    assert answer.status_code == 413
    assert httpx.get(f"{shared.url}/api/version").status_code == 200


def test_blobs_may_be_larger_than_json(shared: LiveServer) -> None:
    digest = "sha256:" + "0" * 64
    answer = httpx.post(f"{shared.url}/api/blobs/{digest}", content=b"x" * (5 * 1024**2))
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(f'digest mismatch, expected "{digest}", got "')


def test_headers_that_trickle_are_cut_off_while_others_are_served(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), header_timeout_s=0.3)
    with serving(settings) as server, wire(server.address) as slow, wire(server.address) as silent:
        slow.send(b"GET /api/version HTTP/1.1\r\nHost: loc")
        assert httpx.get(f"{server.url}/api/version").status_code == 200
        assert slow.ended()
        assert silent.ended()


def test_a_second_request_that_trickles_is_cut_off_too(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), header_timeout_s=0.3)
    with serving(settings) as server, wire(server.address) as connection:
        assert connection.ask("GET", "/api/version", "Host: localhost")[0] == 200
        connection.send(b"GET /api/ver")
        assert connection.ended()


def test_a_slow_answer_is_not_cut_off_by_the_clock_of_headers(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), header_timeout_s=0.2)
    with serving(settings) as server, wire(server.address) as connection:
        options = {"tone_load_s": 0.6}
        connection.post("/api/generate", {"model": "tone", "prompt": "Hi.", "options": options})
        assert connection.answer()[0] == 200
        connection.post("/api/generate", {"model": "tone", "prompt": "Hi."})
        assert connection.answer()[0] == 200


def test_a_body_that_comes_after_its_answer_is_no_next_head(tmp_path: Path) -> None:
    data = b"x" * 200_000
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    head = [f"POST /api/blobs/{digest} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}"]
    with serving(settings_for(tmp_path / "models")) as server, wire(server.address) as connection:
        assert httpx.post(f"{server.url}/api/blobs/{digest}", content=data).status_code == 201
        connection.send("\r\n".join([*head, "", ""]).encode() + data[:1000])
        assert connection.answer()[0] == 200
        connection.send(data[1000:150_000])
        connection.send(data[150_000:])
        assert connection.ask("GET", "/api/version", "Host: localhost")[0] == 200


def test_endless_headers_are_cut_off(shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        fields = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 1000) for number in range(10_000))
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            connection.send(fields)


@pytest.mark.parametrize("size_bytes", [60_000, 65_536, 65_537, 70_000])
def test_a_head_in_one_piece_keeps_the_limit(size_bytes: int, shared: LiveServer) -> None:
    head = b"GET /api/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: %s\r\n\r\n"
    answer = b""
    with wire(shared.address) as connection, suppress(ConnectionError):
        connection.send(head % (b"y" * (size_bytes - len(head) + 2)))
        answer = connection.reader.readline()
    if size_bytes <= 65_536:
        assert answer.startswith(b"HTTP/1.1 200 ")
    else:  # what is not read when the connection closes may swallow the answer
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


def test_a_body_that_trickles_is_a_408(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), body_timeout_s=0.3)
    with serving(settings) as server, wire(server.address) as connection:
        connection.send(
            b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
        )
        status, _, body = connection.answer()
        assert status == 408
        assert "did not come within 0.3 s" in json.loads(body)["error"]


def test_every_answer_carries_an_id_of_its_own_or_the_callers(http: httpx.Client) -> None:
    one, two = (http.get("/api/version").headers["x-request-id"] for _ in range(2))
    assert re.fullmatch(r"[0-9a-f]{16}", one)
    assert one != two
    given = http.get("/nope", headers={"X-Request-Id": "trace-1:2.3"})
    assert given.headers["x-request-id"] == "trace-1:2.3"
    forged = http.get("/", headers={"X-Request-Id": "a b\tc"})
    assert re.fullmatch(r"[0-9a-f]{16}", forged.headers["x-request-id"])


def test_file_keys_that_leave_the_folder_are_refused(http: httpx.Client) -> None:
    digest = "sha256:" + "0" * 64
    for path in ("../../x", "/x", "a/../../x", "a\\b", "C:\\x"):
        answer = http.post("/api/create", json={"model": "x", "files": {path: digest}})
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("file path must be relative")


VOICES = ["../../../../etc/hostname", "/etc/hostname", "..\\..\\x", "v1\x00.pt", "v1/../v1",
          "%2e%2e%2fx", "x" * 10_000]  # fmt: skip


@pytest.mark.parametrize("voice", VOICES, ids=range(len(VOICES)))
@pytest.mark.parametrize("model", ["tone", "hibari"])
def test_a_voice_that_looks_like_a_path_is_refused(
    voice: str, model: str, http: httpx.Client
) -> None:
    body = {"model": model, "prompt": "Hi there.", "options": {"voice": voice}}
    answer = http.post("/api/generate", json=body)
    assert answer.status_code == 400
    assert "voice" in answer.json()["error"]
    assert len(answer.content) < 1100


def test_endless_trailers_are_cut_off(shared: LiveServer) -> None:
    with wire(shared.address) as connection:
        connection.send(
            b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\n{}\r\n0\r\n"
        )
        with suppress(OSError):
            for _ in range(200):
                connection.send(b"a: " + b"b" * 60_000 + b"\r\n")
        assert connection.ended()


def test_a_socket_is_its_keys_and_its_turns_are_counted(tmp_path: Path) -> None:
    settings = replace(
        settings_for(tmp_path / "models"), api_keys=(ApiKey.of("one"),), rate_limit=2
    )
    with serving(settings) as server:
        url = f"ws://127.0.0.1:{server.address.port}/api/speak"
        with connect(url, additional_headers={"Authorization": "Bearer one"}) as talk:
            ends = [_turn_end(talk) for _ in range(2)]  # the handshake was the first request
    assert ends[0]["type"] == "done"
    assert "OLLAMA_TTS_RATE_LIMIT" in str(ends[1]["error"])


def _turn_end(talk: ClientConnection) -> dict[str, object]:
    """How a turn ends."""
    for frame in ({"type": "text", "text": "x"}, {"type": "end"}):
        talk.send(json.dumps(frame))
    while True:
        told = talk.recv()
        ending: dict[str, object] = json.loads(told) if isinstance(told, str) else {}
        if ending.get("type") in {"done", "error"}:
            return ending
