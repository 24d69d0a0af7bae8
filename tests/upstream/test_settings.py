"""OLLAMA_UPSTREAM as it may be written."""

import pytest

from ollama_tts.config import MAX_JSON_BYTES, MAX_PASSED_BYTES, Settings
from ollama_tts.errors import InvalidRequest


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", ""),
        (" ", ""),
        ("ollama.example", "http://ollama.example:11434"),
        ("127.0.0.1:11435", "http://127.0.0.1:11435"),
        ("0.0.0.0:11435", "http://127.0.0.1:11435"),
        ("http://host", "http://host:80"),
        ("https://host/ollama/", "https://host:443/ollama"),
        ("'http://host:1/'", "http://host:1"),
        ("[::1]:11435", "http://[::1]:11435"),
    ],
)
def test_addresses_are_read_as_ollama_s(text: str, url: str) -> None:
    settings = Settings.from_env({"OLLAMA_UPSTREAM": text})
    assert settings.upstream == url
    assert settings.max_json_bytes == (MAX_PASSED_BYTES if url else MAX_JSON_BYTES)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("http://host:port", "port 'port' must be from 0 to 65535"),
        ("ftp://host", "the scheme must be http or https"),
        ("http://user:secret@host", "must not hold a user name or a password"),
        ("a:b:c", "port 'b:c' must be from 0 to 65535"),
    ],
)
def test_what_is_none_is_refused(text: str, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told) as refused:
        Settings.from_env({"OLLAMA_UPSTREAM": text})
    assert "OLLAMA_UPSTREAM" in str(refused.value)
    assert "secret" not in str(refused.value)
