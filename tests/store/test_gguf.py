import struct
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidWeights
from ollama_tts.store.gguf import GGUF, MAX_ELEMENTS, MAX_ENTRIES, check_gguf


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def entry(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def tensor(name: str, *shape: int, offset: int = 0) -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + sizes + struct.pack("<IQ", 0, offset)


def packed(entries: list[bytes], tensors: list[bytes], data: bytes = bytes(128)) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    return head + b"".join(entries) + b"".join(tensors) + data


ARCHITECTURE = entry("general.architecture", 8, text("chattts"))
SOUND = packed(
    [
        ARCHITECTURE,
        entry("general.file_type", 4, struct.pack("<I", 7)),
        entry("a", 9, struct.pack("<IQ", 8, 2) + text("x") + text("y")),
        entry("b", 9, struct.pack("<IQ", 5, 3) + bytes(12)),
        entry("c", 7, b"\x01"),
        entry("d", 12, bytes(8)),
    ],
    [tensor("t", 4, 2), tensor("u", 3, offset=32)],
)


def check(path: Path, content: bytes) -> GGUF:
    (path / "blob").write_bytes(content)
    return check_gguf(path / "blob", "x.gguf")


def test_a_sound_file(tmp_path: Path) -> None:
    found = check(tmp_path, SOUND)
    assert (found.architecture, found.file_type, found.parameters) == ("chattts", 7, 11)


def test_without_an_architecture(tmp_path: Path) -> None:
    assert check(tmp_path, packed([], [])) == GGUF("", None, 0, {}, {})


HOSTILE: dict[str, tuple[bytes, str]] = {
    "version 1": (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1 is not 2 or 3"),
    "4 bytes": (b"GGUF", "cut short"),
    "2^63 tensors": (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0), "9223372036854775808 tensors"),
    "many entries": (b"GGUF" + struct.pack("<IQQ", 3, 0, MAX_ENTRIES + 1), "65537 entries"),
    "entries missing": (b"GGUF" + struct.pack("<IQQ", 3, 0, 9), "cut short"),
    "text of 2^64-1": (packed([struct.pack("<Q", 2**64 - 1)], []), "a text of 1844674407370955"),
    "array of 2^60": (packed([entry("a", 9, struct.pack("<IQ", 4, 2**60))], []), "an array of"),
    "array too long": (
        packed([entry("a", 9, struct.pack("<IQ", 0, MAX_ELEMENTS + 1))], []),
        "an array of 1000001 elements",
    ),
    "array of arrays": (packed([entry("a", 9, struct.pack("<IQ", 9, 1))], []), "unknown type 9"),
    "entry of no type": (packed([entry("a", 99, b"")], []), "the unknown type 99"),
    "5 dimensions": (packed([], [tensor("t", 1, 1, 1, 1, 1)]), "a tensor of 5 dimensions"),
    "shape [2^31, 2^31]": (packed([], [tensor("t", 2**31, 2**31)]), "a tensor of 4611686018427"),
    "offset outside": (packed([], [tensor("t", 1, offset=2**40)]), "a tensor of 1 numbers"),
}


@pytest.mark.parametrize(("content", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(InvalidWeights) as caught:
        check(tmp_path, content)
    assert str(caught.value).startswith("x.gguf is not a sound GGUF file: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"GGU", b"hello", b"ggml" + bytes(50)])
def test_another_format(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidWeights, match=r"^supplied file was not in GGUF format: x\.gguf$"):
        check(tmp_path, content)


@given(st.integers(0, len(SOUND) - 129))
def test_cut_anywhere_in_the_header(tmp_path_factory: pytest.TempPathFactory, length: int) -> None:
    with pytest.raises(InvalidWeights):
        check(tmp_path_factory.mktemp("t"), SOUND[:length])


@given(at=st.integers(4, len(SOUND) - 1), value=st.integers(0, 255))
def test_any_byte_changed_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, value: int
) -> None:
    changed = bytearray(SOUND)
    changed[at] = value
    try:
        found = check(tmp_path_factory.mktemp("t"), bytes(changed))
    except InvalidWeights:
        return
    assert found.parameters >= 0
