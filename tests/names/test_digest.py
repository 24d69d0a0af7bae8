import hashlib

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidName
from ollama_tts.names import Digest

HEX = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


@pytest.mark.parametrize("text", [f"sha256:{HEX}", f"sha256-{HEX}", f"sha256:{HEX.upper()}"])
def test_spellings_are_one_digest(text: str) -> None:
    digest = Digest.parse(text)
    assert str(digest) == f"sha256:{HEX}"
    assert digest == Digest.of(b"hello")
    assert (digest.filename, digest.short) == (f"sha256-{HEX}", HEX[:12])


@pytest.mark.parametrize(
    "text",
    [
        "", HEX, "sha256:", f"SHA256:{HEX}", f"sha256:{HEX}0", f"sha256:{HEX[:-1]}",
        f"sha256_{HEX}",
        f"sha256:{HEX[:-1]}g", f"sha256:{HEX}\n", f" sha256:{HEX}", f"sha256:../{HEX[3:]}",
        "sha256:" + "１" * 64, f"sha512:{HEX}",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(InvalidName) as caught:
        Digest.parse(text)
    assert str(caught.value) == "invalid digest format"


@given(st.binary(max_size=64))
def test_print_then_parse_is_a_fixed_point(data: bytes) -> None:
    digest = Digest.of(data)
    assert digest.hex == hashlib.sha256(data).hexdigest()
    assert Digest.parse(str(digest)) == Digest.parse(digest.filename) == digest
