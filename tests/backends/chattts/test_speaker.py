"""Speaker strings as upstream spells them, and nothing hostile gets through."""

import lzma
from pathlib import Path

import numpy as np
import pybase16384
import pytest
import torch
from hypothesis import given, strategies as st

from ollama_tts.backends.chattts import base16384, upstream
from ollama_tts.backends.chattts.reference import Chat
from ollama_tts.backends.chattts.speaker import (
    FILTERS,
    InvalidSpeaker,
    Statistics,
    decode_codes,
    decode_speaker,
    encode_codes,
    encode_speaker,
    normalized,
)
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.errors import InvalidWeights, LoadFailed


@given(st.binary(min_size=1, max_size=200))
def test_base16384_is_the_packages(data: bytes) -> None:
    assert base16384.encode(data) == pybase16384.encode_to_string(data)
    assert base16384.decode(base16384.encode(data)) == data


@given(st.text(max_size=40))
def test_base16384_refuses_or_decodes(text: str) -> None:
    try:
        data = base16384.decode(text)
    except ValueError:
        return
    assert len(data) <= 2 * len(text)


def test_speaker_strings_are_upstreams(mini: Checkpoint) -> None:
    theirs = mini.speakers()["anna"]
    vector = decode_speaker(theirs, 256)
    assert vector.shape == (256,)
    assert decode_speaker(encode_speaker(vector), 256).tolist() == vector.tolist()


@pytest.mark.filterwarnings("ignore")
def test_random_speakers_are_upstreams(mini: Checkpoint, mini_chat: Chat) -> None:
    torch.manual_seed(11)
    theirs = mini_chat.sample_random_speaker()
    assert encode_speaker(Statistics(mini.config.spk_stat, 256).draw(11)) == theirs
    codes = np.arange(12, dtype=np.int32).reshape(4, 3)
    assert encode_codes(codes) == mini_chat.speaker.encode_prompt(torch.from_numpy(codes))
    assert mini_chat.speaker.decode_prompt(encode_codes(codes)).tolist() == codes.tolist()
    np.testing.assert_array_equal(decode_codes(encode_codes(codes), 4, 625, 100), codes)


def test_official_statistics_come_from_the_installed_package() -> None:
    drawn = Statistics(upstream.spk_stat(), 768).draw(2)
    assert drawn.shape == (768,)
    assert np.linalg.norm(normalized(drawn)) == pytest.approx(1, abs=1e-3)
    assert len(upstream.homophones()) > 10_000


def packed(data: bytes) -> str:
    return base16384.encode(lzma.compress(data, format=lzma.FORMAT_RAW, filters=FILTERS))


def test_what_is_no_speaker() -> None:
    with pytest.raises(InvalidSpeaker, match="not a speaker string"):
        decode_speaker("anna", 256)
    with pytest.raises(InvalidSpeaker, match="damaged"):
        decode_speaker("虁淰敝虁", 256)
    with pytest.raises(InvalidSpeaker, match="holds 8 numbers; this model wants 256"):
        decode_speaker(packed(bytes(16)), 256)
    with pytest.raises(InvalidSpeaker, match="not finite"):
        decode_speaker(packed(np.full(256, np.inf, "<f2").tobytes()), 256)
    with pytest.raises(InvalidSpeaker, match="cannot be that long"):
        decode_speaker("乀" * (1 << 20 | 1), 256)
    with pytest.raises(InvalidWeights, match="512"):
        Statistics(base16384.encode(bytes(6)), 256)


def test_no_string_unfolds_without_bound() -> None:
    """10 MB of zeros in a short string: refused after reading one number too many."""
    bomb = packed(bytes(10_000_000))
    assert len(bomb) < 2000
    with pytest.raises(InvalidSpeaker, match="wants 256"):
        decode_speaker(bomb, 256)


@pytest.mark.parametrize(
    "codes", [np.full((4, 3), 625), np.zeros((3, 4)), np.zeros((4, 0)), np.zeros((4, 101))]
)
def test_what_is_no_voice_prompt(codes: np.ndarray[tuple[int, int], np.dtype[np.int32]]) -> None:
    with pytest.raises(InvalidSpeaker):
        decode_codes(encode_codes(codes.astype(np.int32)), 4, 625, 100)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(upstream, "PACKAGE", "no_such_package")
    with pytest.raises(LoadFailed, match=r"pip install no_such_package==0\.2\.5"):
        upstream.spk_stat()
    (tmp_path / "empty_package/config").mkdir(parents=True)
    (tmp_path / "empty_package/config/config.py").write_text("spk_stat: str\nother: int = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(upstream, "PACKAGE", "empty_package")
    with pytest.raises(LoadFailed, match="holds no speaker statistics"):
        upstream.spk_stat()
    with pytest.raises(LoadFailed, match=r"lacks res/homophones_map\.json"):
        upstream.homophones()


def test_damaged_statistics() -> None:
    with pytest.raises(InvalidWeights, match="spk_stat is damaged"):
        Statistics("abc", 256)
