import base64
import re
import stat
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest

from ollama_tts.config import Credentials
from ollama_tts.errors import Unauthorized
from ollama_tts.registry.auth import Challenge, signed_text
from ollama_tts.registry.key import KeyFile
from tests.registry.conftest import Placed, Registered
from tests.support.loopback import Answer, Fault
from tests.support.registry import Auth, FakeRegistry

CONFIG = b'{"model_format":"tone"}'
READER = Credentials("reader", "pass-word")


def offer(registry: FakeRegistry) -> str:
    registry.put("ns/m", "latest", {"a.safetensors": b"weights"}, CONFIG)
    return f"{registry.host}/ns/m"


@pytest.mark.parametrize(
    ("auth", "login"),
    [("basic", READER), ("login", READER), ("anonymous", None), ("key", None)],
)
async def test_each_way_in(
    registered: Registered, placed: Placed, auth: Auth, login: Credentials | None
) -> None:
    if auth == "key":
        pytest.importorskip("cryptography")
    registry = registered(auth)
    name = offer(registry)
    here = placed(auth={registry.host: login} if login else {})
    assert (await here.pull(name))[-1].status == "success"
    unheard = [asked for asked in registry.seen if "authorization" not in asked.headers]
    assert len([asked for asked in unheard if asked.path != "/token"]) == 1
    assert len(registry.tokens) == {"basic": 0, "login": 1, "anonymous": 1, "key": 2}[auth]


@pytest.mark.parametrize(
    ("auth", "login"),
    [
        ("basic", None),
        ("basic", Credentials("reader", "guess")),
        ("login", None),
        ("login", Credentials("reader", "guess")),
    ],
)
async def test_refused(
    registered: Registered, placed: Placed, auth: Auth, login: Credentials | None
) -> None:
    registry = registered(auth)
    name = offer(registry)
    here = placed(auth={registry.host: login} if login else {})
    with pytest.raises(Unauthorized, match=r"unauthorized: access denied by 127.0.0.1"):
        await here.pull(name)
    assert len(registry.seen) < 8
    assert here.names() == set()


async def test_the_question_for_a_token(registered: Registered, placed: Placed) -> None:
    registry = registered("anonymous")
    await placed().pull(offer(registry))
    [asked] = registry.tokens
    assert parse_qs(asked.query) == {"service": ["fake"], "scope": ["repository:ns/m:pull"]}


async def test_the_key_signs_what_is_sent(
    registered: Registered, placed: Placed, tmp_path: Path
) -> None:
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    registry = registered("key")
    await placed().pull(offer(registry))
    asked = registry.tokens[-1]
    public, _, signature = asked.headers["authorization"].partition(":")
    key = load_ssh_public_key(f"ssh-ed25519 {public}".encode())
    assert isinstance(key, Ed25519PublicKey)
    url = httpx.URL(f"http://{registry.host}/token?{asked.query}")
    key.verify(base64.b64decode(signature), signed_text(url).encode())
    names = [pair.partition("=")[0] for pair in asked.query.split("&")]
    assert names == ["nonce", "scope", "service", "ts"]
    assert re.search(r"nonce=[\w-]{22}&", asked.query)
    assert _mode(tmp_path / "here" / "id_ed25519") == 0o600


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_is_made_once_and_read_again(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    places = (tmp_path / "own/id_ed25519", tmp_path / "shared/id_ed25519")
    key = KeyFile(places)
    before = key.exists
    first = key.sign(b"x")
    assert (before, KeyFile(places).exists) == (False, True)
    assert KeyFile(places).sign(b"x") == first
    places[1].parent.mkdir()
    places[0].rename(places[1])
    assert KeyFile(places).sign(b"x") == first
    assert not places[0].exists()


@pytest.mark.parametrize("text", ["", "no key", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
def test_a_file_that_is_no_key(tmp_path: Path, text: str) -> None:
    pytest.importorskip("cryptography")
    path = tmp_path / "id_ed25519"
    path.write_text(text)
    with pytest.raises(Unauthorized, match=r"^id_ed25519 cannot be read as an OpenSSH key"):
        KeyFile((path,)).sign(b"x")


async def test_no_token_from_a_stranger(registered: Registered, placed: Placed) -> None:
    registry, stranger = registered("login"), registered("login")
    name = offer(registry)
    registry.realm = f"http://{stranger.host}/token"
    here = placed(auth={registry.host: READER})
    text = f'realm host "{stranger.host}" does not match original host "{registry.host}"'
    with pytest.raises(Unauthorized, match=text):
        await here.pull(name)
    assert stranger.seen == []


async def test_a_token_from_a_listed_partner(registered: Registered, placed: Placed) -> None:
    registry, partner = registered("login"), registered("login")
    name = offer(registry)
    registry.realm = f"http://{partner.host}/token"
    here = placed(auth={registry.host: READER}, registries=("*", f"{registry.host}={partner.host}"))
    await here.pull(name)
    assert len(partner.tokens) == 1


async def test_a_token_that_ran_out_is_renewed(registered: Registered, placed: Placed) -> None:
    registry = registered("anonymous")
    name = offer(registry)
    challenge = f'Bearer realm="http://{registry.host}/token",service="fake"'
    late = Answer(401, b"", {"WWW-Authenticate": challenge})
    registry.faults.append(Fault("/blobs/", answer=late))
    await placed().pull(name)
    assert len(registry.tokens) == 2


@pytest.mark.parametrize(
    "answer", [Answer(200, b"<html>"), Answer(200, b'{"token":"a\\nb"}'), Answer(200, b"{}")]
)
async def test_a_token_that_is_none(registered: Registered, placed: Placed, answer: Answer) -> None:
    registry = registered("anonymous")
    name = offer(registry)
    registry.faults.append(Fault("/token", times=10, answer=answer))
    with pytest.raises(Exception, match=r"no token|access denied"):
        await placed().pull(name)


def test_challenges() -> None:
    text = 'Bearer realm="https://a.test/t?x=1,2",service="r",scope="a:b:pull,push c:d:*",error="x"'
    parsed = Challenge("bearer", "https://a.test/t?x=1,2", "r", ("a:b:pull,push", "c:d:*"))
    assert Challenge.parse(text) == parsed
    assert Challenge.parse("Bearer realm=https://a.test").realm == "https://a.test"
    assert Challenge.parse("BASIC").scheme == "basic"
    assert Challenge.parse("") == Challenge("")
