"""API keys as they are kept and compared."""

import hashlib

import pytest

from ollama_tts.config import ApiKey, Settings
from ollama_tts.config.environment import client_key
from ollama_tts.errors import Unauthorized
from ollama_tts.server.keys import check_key

HEX = hashlib.sha256(b"third").hexdigest()
ENVIRON = {"OLLAMA_TTS_API_KEY": f"sha256:{HEX},first, second"}


def test_only_hashes_are_kept() -> None:
    settings = Settings.from_env(ENVIRON)
    assert len(settings.api_keys) == 3
    for text in ("first", "second", "third"):
        assert text not in repr(settings)
        assert sum(key.matches(text) for key in settings.api_keys) == 1
    assert HEX not in repr(settings)
    assert client_key(ENVIRON) == "first"
    assert client_key({}) == ""


def test_each_key_has_a_name_of_its_own() -> None:
    keys = Settings.from_env(ENVIRON).api_keys
    names = {check_key(keys, f"Bearer {text}") for text in ("first", "second", "third")}
    assert names == {key.name for key in keys}
    assert check_key(keys, "bearer  third ") == keys[0].name
    assert check_key((), "") == ""


@pytest.mark.parametrize(
    "given", ["", "first", "Bearer", "Bearer fir", "Basic first", f"Bearer sha256:{HEX}"]
)
def test_everything_else_is_refused(given: str) -> None:
    with pytest.raises(Unauthorized, match="OLLAMA_TTS_API_KEY"):
        check_key([*map(ApiKey.of, ("first", f"sha256:{HEX}"))], given)
