"""Numbers in bytes are as exact as their types, and int8 finds its own codes again."""

import gguf
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from ollama_tts.backends.chattts import blocks
from ollama_tts.backends.chattts.linear import Int4Weight, Int8Weight
from ollama_tts.store.tensors import TYPES

NARROW = [name for name, kind in TYPES.items() if kind.narrow]
SMALLEST_STEP = 6e-8
ERROR = {"F32": 0.0, "F16": 5e-4, "BF16": 4e-3, "Q8_0": 0.012, "Q5_0": 0.06, "Q4_0": 0.12}


def numbers(rows: int, width: int, seed: int = 0, spread: float = 0.05) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((rows, width)) * spread
    return drawn.astype(np.float32)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [32, 96, 256, 768])
def test_written_and_read(dtype: str, width: int) -> None:
    values = numbers(7, width)
    raw = blocks.encode(values, dtype)
    assert raw.shape == (7, TYPES[dtype].size_bytes(width))
    rounded = np.abs(blocks.decode(raw, dtype) - values).max()
    assert rounded <= ERROR[dtype] * np.abs(values).max()


def test_the_packages_own_q8_0_is_read() -> None:
    values = numbers(7, 256)
    theirs = np.asarray(gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0))
    assert np.abs(blocks.decode(theirs, "Q8_0") - values).max() <= 0.01 * np.abs(values).max()


@pytest.mark.parametrize("name", TYPES)
def test_numbers_of_the_types(name: str) -> None:
    kind, sizes = TYPES[name], gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    assert (kind.ggml, (kind.block, kind.block_bytes)) == (gguf.GGMLQuantizationType[name], sizes)
    theirs = {f"ALL_{name}", f"MOSTLY_{name}"} & set(gguf.LlamaFileType.__members__)
    assert kind.file_type == gguf.LlamaFileType[theirs.pop()]


magnitudes = st.sampled_from([0.0, 1e-30, 1e-7, 1e-4, 0.01, 1.0, 300.0, 60_000.0])


@settings(max_examples=150, deadline=None)
@given(width=st.sampled_from([32, 64, 96, 128, 192, 256, 768]), spread=magnitudes,
       seed=st.integers(0, 2**32 - 1))  # fmt: skip
def test_int8_finds_the_files_own_codes(width: int, spread: float, seed: int) -> None:
    """Rounding what a Q8_0 file holds to the engine's int8 changes no code."""
    values = numbers(3, width, seed, spread)
    read = blocks.decode(blocks.encode(values, "Q8_0"), "Q8_0")
    again = Int8Weight(torch.from_numpy(read), torch.float32)
    assert again._scale.numel() == 3 * width // blocks.group_of(width)
    groups = read.reshape(3, -1, blocks.group_of(width))
    step = np.abs(groups).max(-1, keepdims=True) / 127
    assert np.abs(again.dense().numpy() - read).max() <= 1e-6 * np.abs(read).max() + 1e-9
    off_by = np.abs(values.reshape(groups.shape) - groups)
    assert (off_by <= 0.51 * step + 127 * SMALLEST_STEP).all()


@pytest.mark.parametrize("spread", [1e-6, 0.05, 40.0])
def test_int4_keeps_what_a_q4_0_file_holds(spread: float) -> None:
    read = blocks.decode(blocks.encode(numbers(9, 128, spread=spread), "Q4_0"), "Q4_0")
    kept = Int4Weight(torch.from_numpy(read), torch.float32)
    assert np.array_equal(kept.dense().numpy(), read)


@pytest.mark.parametrize("dtype", NARROW)
def test_zeros_stay_zeros(dtype: str) -> None:
    zeros = np.zeros((2, 64), np.float32)
    assert not blocks.decode(blocks.encode(zeros, dtype), dtype).any()
