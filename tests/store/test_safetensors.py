import json
import math
import resource
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from safetensors.numpy import save

from ollama_tts.errors import InvalidWeights
from ollama_tts.store.safetensors import MAX_HEADER_BYTES, check_safetensors

MINI = Path(__file__).parent.parent / "data/chattts-mini/asset/gpt/model.safetensors"


def packed(header: object, data: bytes = b"", *, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def tensor(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def check(path: Path, content: bytes) -> Mapping[str, int]:
    file = path / "blob"
    file.write_bytes(content)
    return check_safetensors(file, "x.safetensors").numbers


def test_a_file_that_the_package_wrote(tmp_path: Path) -> None:
    content = save(
        {
            "a": np.zeros((2, 3), np.float16),
            "b": np.zeros((0, 4), np.float32),
            "c": np.zeros((), np.int64),
            "d": np.zeros(5, np.float32),
        },
        metadata={"format": "pt"},
    )
    assert check(tmp_path, content) == {"F16": 6, "F32": 5, "I64": 1}


def test_a_real_checkpoint() -> None:
    found = check_safetensors(MINI, "model.safetensors")
    assert found.parameters == found.numbers["F16"] > 1_000_000


@given(
    shapes=st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=5),
    dtype=st.sampled_from(["F32", "F16", "I8", "BOOL"]),
)
def test_any_sound_header(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[list[int]], dtype: str
) -> None:
    width = {"F32": 4, "F16": 2, "I8": 1, "BOOL": 1}[dtype]
    header, at = {}, 0
    for index, shape in enumerate(shapes):
        size = math.prod(shape) * width
        header[str(index)] = tensor(shape, at, at + size, dtype)
        at += size
    found = check(tmp_path_factory.mktemp("t"), packed(header, bytes(at)))
    assert sum(found.values()) == sum(math.prod(shape) for shape in shapes)


HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "a header of 0 bytes in a file of 0"),
    "4 bytes": (b"\x01\x00\x00\x00", "in a file of 4"),
    "length 2^63-1": (packed({}, length=2**63 - 1), "a header of 9223372036854775807 bytes"),
    "length 2^64-1": (packed({}, length=2**64 - 1), "a header of 18446744073709551615 bytes"),
    "length one too long": (packed({}, length=3), "a header of 3 bytes in a file of 10"),
    "header over the limit": (packed(b" " * (MAX_HEADER_BYTES + 1)), "bytes; 4194304 are allowed"),
    "nested": (packed(b'{"a":' + b"[" * 1_900_000 + b"]" * 1_900_000 + b"}"), "damaged"),
    "nested 10 MB": (packed(b"[" * 10_000_000), "are allowed"),
    "no JSON": (packed(b"{"), "the header is damaged"),
    "no UTF-8": (packed(b'{"\xff":1}'), "the header is damaged"),
    "a list": (packed([]), "the header is damaged"),
    "no tensors": (packed({}), "its tensors fill 0 of 0 bytes"),
    "metadata only": (packed({"__metadata__": {"a": "b"}}), "its tensors fill 0 of 0"),
    "tensor null": (packed({"a": None}), "the header is damaged"),
    "offsets beyond the file": (packed({"a": tensor([2], 0, 8)}, bytes(4)), "lies at 0..8"),
    "offsets negative": (packed({"a": tensor([1], -4, 0)}, bytes(4)), "lies at -4..0"),
    "offsets swapped": (packed({"a": tensor([1], 4, 0)}, bytes(4)), "lies at 4..0"),
    "offsets a fraction": (
        packed({"a": {**tensor([1], 0, 4), "data_offsets": [0, 4.5]}}),
        "damaged",
    ),
    "offsets 2^100": (packed({"a": tensor([1], 0, 2**100)}, bytes(4)), ""),
    "three offsets": (packed({"a": {**tensor([1], 0, 4), "data_offsets": [0, 4, 8]}}), "damaged"),
    "overlap": (
        packed({"a": tensor([2], 0, 8), "b": tensor([1], 4, 8)}, bytes(8)),
        "'b' lies at 4..8, where 8 is next",
    ),
    "same place": (packed({"a": tensor([1], 0, 4), "b": tensor([1], 0, 4)}, bytes(4)), "lies at"),
    "gap": (packed({"a": tensor([1], 4, 8)}, bytes(8)), "'a' lies at 4..8, where 0 is next"),
    "bytes behind": (packed({"a": tensor([1], 0, 4)}, bytes(8)), "its tensors fill 4 of 8"),
    "shape [2^31, 2^31]": (packed({"a": tensor([2**31, 2**31], 0, 4)}, bytes(4)), "does not fit"),
    "shape overflows to 4": (packed({"a": tensor([2**62 + 1, 4], 0, 16)}, bytes(16)), "not fit"),
    "shape negative": (packed({"a": tensor([-1, -1], 0, 4)}, bytes(4)), "has the shape [-1, -1]"),
    "many dimensions": (packed({"a": tensor([1] * 100_000, 0, 4)}, bytes(4)), "has the shape"),
    "shape a text": (packed({"a": {**tensor([1], 0, 4), "shape": "1"}}, bytes(4)), "damaged"),
    "unknown type": (packed({"a": tensor([1], 0, 4, "Q4")}, bytes(4)), "the unknown type 'Q4'"),
    "long name": (packed({"n" * 100_000: tensor([1], 0, 4, "Q4")}, bytes(4)), "nnn..."),
}


@pytest.mark.parametrize(("content", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile(tmp_path: Path, content: bytes, words: str) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidWeights) as caught:
        check(tmp_path, content)
    text = str(caught.value)
    assert text.startswith("x.safetensors is not a sound safetensors file: ")
    assert words in text
    assert str(tmp_path) not in text
    assert len(text) < 500
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert grown_kib < 50 * 1024


@given(st.binary(max_size=100))
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    with pytest.raises(InvalidWeights):
        check(tmp_path_factory.mktemp("t"), data)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(InvalidWeights, match="No such file"):
        check_safetensors(tmp_path / "nope", "x.safetensors")
