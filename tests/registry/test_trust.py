from collections.abc import Sequence

import httpx
import pytest

from ollama_tts.config import Credentials, Proxies
from ollama_tts.errors import Forbidden, InvalidName, Unauthorized, UpstreamFailed
from ollama_tts.names import Digest
from ollama_tts.registry.addresses import is_public
from ollama_tts.registry.failures import Refused
from ollama_tts.registry.road import Road
from ollama_tts.registry.trust import Trust, take_login
from ollama_tts.registry.web import MAX_REDIRECTS, Reach, allowed
from tests.registry.conftest import Placed, Registered
from tests.support.loopback import Answer, Fault
from tests.support.registry import LOGIN, FakeRegistry

CONFIG = b'{"model_format":"tone"}'
DATA = b"weights" * 1000
DIGEST = Digest.of(DATA)
BLOB = f"/blobs/{DIGEST}"


def offer(registry: FakeRegistry) -> str:
    registry.put("ns/m", "latest", {"a.safetensors": DATA}, CONFIG)
    return f"{registry.host}/ns/m"


def moved(target: str, status: int = 307) -> Answer:
    return Answer(status, b"", {"Location": target})


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1",
        "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "example.com", "", "0x7f.1", "2130706433",
    ],
)  # fmt: skip
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_what_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:{port}/x", "http://[::1]:{port}/x", "http://localhost:{port}/x",
        "http://169.254.169.254/latest/meta-data", "http://0.0.0.0:{port}/x",
        "http://[::ffff:127.0.0.1]:{port}/x", "http://2130706433:{port}/x", "http://10.1.2.3/",
        "//127.0.0.1:{port}/x",
    ],
)  # fmt: skip
async def test_no_redirect_into_a_private_network(
    registered: Registered, placed: Placed, target: str
) -> None:
    registry, other = registered(), registered()
    name = offer(registry)
    registry.faults.append(Fault(BLOB, answer=moved(target.format(port=other.port)), times=100))
    here = placed()
    with pytest.raises(UpstreamFailed, match=r"public address.*OLLAMA_TTS_REGISTRIES"):
        await here.pull(name)
    assert other.seen == []
    assert here.names() == set()


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://example.com/x", "data:,x"])
async def test_no_redirect_to_other_schemes(
    registry: FakeRegistry, placed: Placed, target: str
) -> None:
    name = offer(registry)
    registry.faults.append(Fault(BLOB, answer=moved(target)))
    with pytest.raises(UpstreamFailed, match=r"redirects to the scheme|not an address"):
        await placed().pull(name)


async def test_redirects_end(registry: FakeRegistry, placed: Placed) -> None:
    name = offer(registry)
    registry.faults.append(Fault(BLOB, answer=moved(f"/v2/ns/m{BLOB}"), times=100))
    with pytest.raises(UpstreamFailed, match=f"redirects more than {MAX_REDIRECTS} times"):
        await placed().pull(name)
    assert registry.count(BLOB) == MAX_REDIRECTS + 1


async def test_a_redirect_at_home_is_followed(registry: FakeRegistry, placed: Placed) -> None:
    name = offer(registry)
    registry.blobs["elsewhere"] = DATA
    registry.faults.append(Fault(BLOB, answer=moved("/v2/ns/m/blobs/elsewhere")))
    here = placed()
    await here.pull(name)
    assert here.store.blobs.has(DIGEST)


async def test_a_listed_partner_is_reached_and_learns_no_secret(
    registered: Registered, placed: Placed
) -> None:
    registry, partner = registered("login"), registered()
    name = offer(registry)
    offer(partner)
    target = f"http://127.0.0.1:{partner.port}/v2/ns/m{BLOB}?signature=s"
    registry.faults.append(Fault(BLOB, answer=moved(target), times=100))
    here = placed(
        registries=("*", f"{registry.host}={partner.host}"),
        auth={registry.host: Credentials("reader", "pass-word")},
    )
    await here.pull(name)
    assert here.store.blobs.has(DIGEST)
    assert partner.count(BLOB) == 1
    assert all("authorization" not in asked.headers for asked in partner.seen)


async def test_a_name_that_resolves_to_a_private_address(
    registry: FakeRegistry, placed: Placed
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    offer(registry)
    registry.faults.append(Fault(BLOB, answer=moved(f"http://cdn.test:{registry.port}/x")))
    here = placed(road=Road(Proxies(), resolve))
    with pytest.raises(UpstreamFailed, match=r"cdn.test is not at a public address"):
        await here.pull(f"http://registry.test:{registry.port}/ns/m")
    await here.pull(f"http://registry.test:{registry.port}/ns/m")
    asked = {asked.headers["host"] for asked in registry.seen}
    assert asked == {f"registry.test:{registry.port}"}


async def test_an_address_that_takes_no_connection_gives_way_to_the_next(
    registry: FakeRegistry, placed: Placed
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    offer(registry)
    here = placed(road=Road(Proxies(), resolve))
    await here.pull(f"http://registry.test:{registry.port}/ns/m")


@pytest.mark.parametrize("insecure", [False, True])
async def test_plain_http_is_for_those_who_ask(
    registry: FakeRegistry, placed: Placed, insecure: bool
) -> None:
    name, here = offer(registry), placed()
    if insecure:
        await here.pull(name, insecure=True)
    else:
        with pytest.raises(UpstreamFailed, match=f'Get "https://{registry.host}/v2/ns/m'):
            await here.pull(name, insecure=False)


async def test_only_listed_registries_are_asked(registered: Registered, placed: Placed) -> None:
    listed, other = registered(), registered()
    here = placed(registries=(listed.host,))
    await here.pull(offer(listed))
    with pytest.raises(Forbidden, match=f"{other.host} is not among the registries of OLLAMA_TTS"):
        await here.pull(offer(other))
    assert other.seen == []


def test_from_https_there_is_no_way_back() -> None:
    here = httpx.URL("https://registry.test/v2/")
    assert allowed(here, "https://user:pw@cdn.test/x") == httpx.URL("https://cdn.test/x")
    assert allowed(here, "/x").host == "registry.test"
    for target in ("http://cdn.test/x", "http://registry.test/x", "HTTP://registry.test/x"):
        with pytest.raises(Refused, match="from https to http"):
            allowed(here, target)
    with pytest.raises(Refused):
        allowed(here, "http://[::1/x")


def test_the_setting() -> None:
    trust = Trust.parse(("*", "R.test=a.test+b.test:5000"))
    trust.need("anything.test")
    assert trust.partners_of("r.TEST") == {"a.test", "b.test:5000"}
    assert trust.partners_of("registry.ollama.ai") == {"ollama.com"}
    reach = Reach(httpx.URL("https://r.test"), trust.partners_of("r.test"))
    trusted = ("https://r.test/x", "https://a.test:1/", "http://b.test:5000/")
    assert all(reach.trusts(httpx.URL(url)) for url in trusted)
    assert not any(reach.trusts(httpx.URL(u)) for u in ("https://r.test:1/", "https://b.test/"))
    assert not reach.is_home(httpx.URL("http://r.test/"))
    with pytest.raises(Forbidden):
        Trust.parse(("r.test=a.test",)).need("a.test")


@pytest.mark.parametrize(
    ("text", "name", "login"),
    [
        ("m", "m", None),
        ("u:p@h.test/n/m:t", "h.test/n/m:t", Credentials("u", "p")),
        ("http://u:p:q@h.test:1/n/m", "http://h.test:1/n/m", Credentials("u", "p:q")),
        ("u:@h/n/m", "h/n/m", Credentials("u", "")),
    ],
)
def test_credentials_in_a_name(text: str, name: str, login: Credentials | None) -> None:
    assert take_login(text) == (name, login)


@pytest.mark.parametrize("text", ["@h/n/m", "u@h/n/m", "n/m@sha256:x", ":p@h/n/m"])
def test_other_at_signs_are_no_names(text: str) -> None:
    with pytest.raises(InvalidName):
        take_login(text)


async def test_credentials_in_a_name_are_used_and_not_stored(
    registered: Registered, placed: Placed
) -> None:
    registry = registered("basic")
    offer(registry)
    here = placed()
    await here.pull(f"reader:pass-word@{registry.host}/ns/m")
    assert here.names() == {f"{registry.host}/ns/m:latest"}
    assert {a.headers.get("authorization") for a in registry.seen} == {None, LOGIN}
    with pytest.raises(Unauthorized) as caught:
        await placed("there").pull(f"reader:wrong-word@{registry.host}/ns/m")
    assert "wrong-word" not in str(caught.value)
