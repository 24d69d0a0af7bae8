"""Host and Origin, as rules on text."""

import pytest

from ollama_tts.config import Address, Settings
from ollama_tts.server.http.origins import Caller, OriginRules

PUBLIC = Address("0.0.0.0", 11434)


def rules(**fields: object) -> OriginRules:
    return OriginRules(Settings(**fields), own_name="Workshop")  # type: ignore[arg-type]


def program(host: str | None) -> Caller:
    return Caller(host, None, browser=False)


def page(host: str, origin: str) -> Caller:
    return Caller(host, origin, browser=True)


@pytest.mark.parametrize(
    "host",
    [None, "", "localhost", "LOCALHOST:11434", "workshop", "Workshop:80", "127.0.0.1:1", "[::1]:1",
     "10.1.2.3", "8.8.8.8", "[fe80::1]", "a.localhost", "nas.local", "gpu.internal", "localhost."],
)  # fmt: skip
def test_hosts_that_pass_on_loopback(host: str | None) -> None:
    assert rules().refuse(program(host)) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:11434", "localhost.evil.example", "127.0.0.1.evil.example",
     "local", "internal", "[evil]", "localhost:x", "a b", "::1", "local.evil"],
)  # fmt: skip
def test_hosts_that_do_not(host: str) -> None:
    if host == "::1":  # an address without brackets is still an address
        assert rules().refuse(program(host)) is None
        return
    refusal = rules().refuse(program(host))
    assert refusal is not None
    assert "OLLAMA_TTS_ALLOWED_HOSTS" in refusal


def test_allowed_hosts_are_names_or_wildcards() -> None:
    listed = rules(allowed_hosts=("tts.example", "*.lan"))
    assert listed.refuse(program("TTS.example:443")) is None
    assert listed.refuse(program("box.lan")) is None
    assert listed.refuse(program("lan")) is not None
    assert rules(allowed_hosts=("*",)).refuse(program("anything")) is None


def test_a_dot_in_a_list_is_a_dot() -> None:
    assert rules(allowed_hosts=("a.b",)).refuse(program("axb")) is not None
    assert rules(origins=("https://a.b",)).refuse(page("localhost", "https://axb")) is not None


def test_the_own_origin_passes() -> None:
    assert rules().refuse(page("nas.local:1", "http://nas.local:1")) is None
    assert rules().refuse(page("nas.local:1", "http://nas.local:2")) is not None


def test_any_port_means_digits() -> None:
    assert rules().refuse(page("localhost", "http://localhost:1234")) is None
    assert rules().refuse(page("localhost", "http://localhost:1234.evil.example")) is not None
    assert rules().refuse(page("localhost", "http://localhost:")) is not None


def test_a_public_server_takes_programs_by_any_name_and_browsers_by_known_ones() -> None:
    public = rules(address=PUBLIC)
    assert public.refuse(program("ollama-tts:11434")) is None
    assert public.refuse(page("ollama-tts:11434", "http://ollama-tts:11434")) is not None
    listed = rules(address=PUBLIC, origins=("https://app.example",))
    assert listed.refuse(page("api.example", "https://app.example")) is None


def test_every_origin_may_be_allowed() -> None:
    every = rules(origins=("*",))
    assert every.any_origin
    assert every.refuse(page("localhost", "null")) is None
    assert not rules().any_origin
