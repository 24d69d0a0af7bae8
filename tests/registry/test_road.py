import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from ollama_tts.config import Proxies, Settings
from ollama_tts.errors import InvalidOption, InvalidRequest, Unreachable, UpstreamFailed
from ollama_tts.registry.failures import explained, reason, shown
from ollama_tts.registry.road import MAX_HOSTS, Road, proxy_for
from ollama_tts.registry.web import Ask, Reach, Web
from tests.registry.conftest import Placed
from tests.support.registry import FakeRegistry

DATA = b"weights" * 20_000


@contextmanager
def refusing_proxy(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that answers every request with the same bytes; gives its URL and what it heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(65536).partition(b"\r\n")[0])
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(30)


async def test_every_request_goes_through_the_proxy(registry: FakeRegistry, placed: Placed) -> None:
    registry.put("ns/m", "latest", {"a.safetensors": DATA}, b'{"model_format":"tone"}')
    here = placed(proxies=Proxies(http=f"http://{registry.host}"))
    await here.pull("http://registry.test:5000/ns/m")
    assert len(registry.seen) >= 4
    assert {asked.headers["host"] for asked in registry.seen} == {"registry.test:5000"}


async def test_what_no_proxy_covers_goes_straight(registry: FakeRegistry, placed: Placed) -> None:
    registry.put("ns/m", "latest", {}, b'{"model_format":"tone"}')
    with refusing_proxy(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as (url, heard):
        here = placed(proxies=Proxies(http=url, https=url, direct=("127.0.0.0/8",)))
        await here.pull(f"{registry.host}/ns/m")
        assert heard == []


async def test_https_asks_the_proxy_for_a_tunnel(placed: Placed) -> None:
    with refusing_proxy(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as (url, heard):
        here = placed(proxies=Proxies(https=url))
        place = url.removeprefix("http://")
        text = f'pull model manifest: Get "https://registry.test/.*" through proxy {place}: 403 For'
        with pytest.raises(UpstreamFailed, match=text):
            await here.pull("registry.test/ns/m", insecure=False)
        assert heard == [b"CONNECT registry.test:443 HTTP/1.1"]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there_is_named(placed: Placed, scheme: str) -> None:
    proxy = "http://user:pass-word@127.0.0.1:9"
    here = placed(proxies=Proxies(http=proxy, https=proxy))
    text = f'Get "{scheme}://registry.test/.*" through proxy 127.0.0.1:9: Connection refused'
    with pytest.raises(UpstreamFailed, match=text) as caught:
        await here.pull(f"{scheme}://registry.test/ns/m", insecure=False)
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "407 Proxy"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{", "the connection broke"),
        (b"", "the connection broke"),
        (b"SSH-2.0-OpenSSH_9\r\n", "the connection broke"),
    ],
)
async def test_what_breaks_behind_a_proxy_names_it(
    placed: Placed, answer: bytes, text: str
) -> None:
    with refusing_proxy(answer) as (url, _):
        here = placed(proxies=Proxies(http=url))
        place = url.removeprefix("http://")
        with pytest.raises(UpstreamFailed, match=f"through proxy {place}: .*{text}"):
            await here.pull("http://registry.test/ns/m")


async def test_a_name_that_does_not_resolve(placed: Placed) -> None:
    with pytest.raises(UpstreamFailed, match=r'Get "http://registry.invalid/v2/ns/m.*: dial tcp: '):
        await placed().pull("http://registry.invalid/ns/m")


async def test_a_proxy_setting_that_is_none(placed: Placed) -> None:
    here = placed(proxies=Proxies(http="gopher://127.0.0.1:9"))
    with pytest.raises((InvalidOption, UpstreamFailed), match="the proxy setting cannot be used"):
        await here.pull("http://registry.test/ns/m")


@pytest.mark.parametrize(
    ("direct", "url", "straight"),
    [
        ("*", "https://a.test", True),
        ("a.test", "https://a.test", True),
        ("a.test", "https://b.a.test", True),
        (".a.test", "https://b.a.test", True),
        ("*.a.test", "https://b.a.test", True),
        ("A.Test", "https://a.test", True),
        ("a.test", "https://ba.test", False),
        ("a.test:5000", "https://a.test:5000", True),
        ("a.test:5000", "https://a.test", False),
        ("a.test:443", "https://a.test", True),
        ("10.0.0.0/8", "https://10.1.2.3", True),
        ("10.0.0.0/8", "https://11.1.2.3", False),
        ("10.1.2.3", "https://10.1.2.3:5000", True),
        ("10.1.2.3:5000", "https://10.1.2.3:5000", True),
        ("::1", "https://[::1]", True),
        ("[::1]:5000", "https://[::1]:5000", True),
        ("fe80::/10", "https://[fe80::1]", True),
        ("a.test", "https://10.1.2.3", False),
        (".", "https://a.test", False),
    ],
)
def test_no_proxy(direct: str, url: str, straight: bool) -> None:
    proxies = Proxies(https="http://proxy.test", direct=("other", direct))
    assert (proxy_for(proxies, httpx.URL(url)) == "") == straight


def test_the_environment() -> None:
    settings = Settings.from_env(
        {
            "HTTPS_PROXY": "proxy.test:3128", "http_proxy": "http://low.test", "HTTP_PROXY": "x",
            "NO_PROXY": "a.test, b.test", "HF_ENDPOINT": "https://mirror.test/", "HF_TOKEN": "t",
            "OLLAMA_TTS_REGISTRIES": "r.test=a.test, localhost:5000",
            "OLLAMA_TTS_REGISTRY_AUTH": "R.test=user:pass:word",
        }
    )  # fmt: skip
    assert settings.proxies.https == "http://proxy.test:3128"
    assert settings.proxies.http == "http://low.test"
    assert settings.proxies.direct == ("a.test", "b.test")
    assert (settings.hub_endpoint, settings.hub_token) == ("https://mirror.test", "t")
    assert settings.registries == ("r.test=a.test", "localhost:5000")
    login = settings.registry_auth["r.test"]
    assert (login.user, login.password) == ("user", "pass:word")
    assert not any(secret in repr(settings) for secret in ("pass:word", "'t'", "proxy.test"))
    assert Settings.from_env({"all_proxy": "http://p.test"}).proxies.https == "http://p.test"
    assert Settings.from_env({}).registries == ("*",)


@pytest.mark.parametrize("text", ["r.test", "r.test=user", "=u:p", "r.test=:p"])
def test_a_login_that_is_none_is_not_repeated(text: str) -> None:
    with pytest.raises(InvalidRequest, match="entry 1 is not HOST=USER:PASSWORD"):
        Settings.from_env({"OLLAMA_TTS_REGISTRY_AUTH": text})


async def test_idle_connections_are_bounded(registry: FakeRegistry) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    road = Road(Proxies(), resolve)
    web = Web(road)
    for number in range(MAX_HOSTS + 5):
        url = httpx.URL(f"http://h{number}.test:{registry.port}/v2/")
        async with web.open(Ask("GET", url), Reach(url)) as response:
            assert response.status_code == 200
    assert len(road._ways) == MAX_HOSTS
    await web.aclose()
    assert road._ways == {}


def test_errors_show_no_secrets() -> None:
    url = httpx.URL("https://user:pw@cdn.test/x?signature=s#f")
    assert shown(url) == "https://cdn.test/x"
    with pytest.raises(Unreachable) as caught, explained("GET", url):
        raise httpx.ConnectError("no way")
    assert str(caught.value) == 'Get "https://cdn.test/x": dial tcp: no way'


def test_reasons_are_the_systems() -> None:
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9)")
    assert reason(error) == "Connection refused"
    assert reason(httpx.ReadError("")) == "ReadError"
