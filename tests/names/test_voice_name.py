import pytest

from ollama_tts.errors import InvalidName
from ollama_tts.names import VoiceName


@pytest.mark.parametrize(
    "text", ["heart", "seed:42", "v 1", "蘁淰敩", "af_heart+am_adam", "x" * 8192]
)
def test_allowed(text: str) -> None:
    assert str(VoiceName.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "../../../../etc/hostname", "/etc/hostname", "..\\..\\x", "v1\x00.pt", "v1/../v1",
        "%2e%2e%2fx", "x" * 10_000, ".hidden", "a\nb",
    ],
)  # fmt: skip
def test_refused_whether_or_not_such_a_file_exists(text: str) -> None:
    with pytest.raises(InvalidName, match="seed:N, or a speaker string"):
        VoiceName.parse(text)
