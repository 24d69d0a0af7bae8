import pytest

from ollama_tts import errors
from ollama_tts.server.reasons import text_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("loading m failed: FileNotFoundError('/home/me/x/y.bin')", "(a path)"),
        ('Get "https://host/v2/a/b": refused', "https://host/v2/a/b"),
        ("127.0.0.1:9/ns/m is not there", "127.0.0.1:9/ns/m"),
        ("say one/two or 3/4", "say one/two or 3/4"),
    ],
)
def test_failures_show_no_paths_of_this_machine(text: str, shown: str) -> None:
    assert shown in text_of(errors.LoadFailed(text))
    assert "/home" not in text_of(errors.LoadFailed(text))


def test_what_the_caller_sent_is_quoted_as_it_was() -> None:
    assert text_of(errors.InvalidName("'/a/b/c' is no name")) == "'/a/b/c' is no name"
