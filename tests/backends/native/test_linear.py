import numpy as np
import pytest
from numpy.typing import NDArray

from ollama_tts.backends.chattts.native.library import MODES, PATHS, Mode, Path
from ollama_tts.backends.chattts.native.linear import NativeLinear, NativePool
from ollama_tts.errors import Unsupported
from tests.support.native import paths

MOST = {"fp32": 1e-6, "bf16": 5e-3, "int8": 2e-2}
EVERY = [(mode, path) for mode in MODES for path in PATHS if path in paths()]


def numbers(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


@pytest.mark.parametrize(("mode", "path"), EVERY)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("outputs", "inputs"), [(512, 384), (100, 48), (1026, 512), (1, 16)])
def test_it_multiplies_and_adds_the_bias(
    mode: Mode, path: Path, wide: bool, outputs: int, inputs: int
) -> None:
    weight, bias, x = (
        numbers(outputs, inputs),
        numbers(outputs, seed=1),
        numbers(70, inputs, seed=2),
    )
    expected = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    made = NativeLinear(NativePool(2, path), weight, bias, mode=mode, wide_inputs=wide)(x)
    assert made.shape == (70, outputs)
    assert np.abs(made - expected).max() < MOST[mode] * np.abs(expected).max()


@pytest.mark.parametrize(("mode", "path"), EVERY)
def test_a_row_depends_on_itself_alone(mode: Mode, path: Path) -> None:
    linear = NativeLinear(NativePool(3, path), numbers(96, 256), None, mode=mode)
    x = numbers(150, 256, seed=3)
    whole = linear(x)
    parts = [linear(x[start : start + 7]) for start in range(0, 150, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(linear(x[::-1])[::-1], whole)


def test_wide_inputs_help_against_heavy_tails() -> None:
    weight, x = numbers(64, 512), numbers(40, 512, seed=4) ** 5
    exact = x @ weight.T
    pool = NativePool(1)
    errors = [
        np.abs(NativeLinear(pool, weight, None, mode="int8", wide_inputs=wide)(x) - exact).mean()
        for wide in (False, True)
    ]
    assert errors[1] < errors[0] / 2


def test_no_rows_make_no_rows() -> None:
    linear = NativeLinear(NativePool(1), numbers(5, 16), None, mode="fp32")
    assert linear(numbers(0, 16)).shape == (0, 5)


def test_precision_decides_the_memory() -> None:
    pool = NativePool(1)
    sizes = [NativeLinear(pool, numbers(64, 256), None, mode=mode).nbytes for mode in MODES]
    assert sizes[0] == 64 * 256 * 4
    assert sizes[0] > sizes[1] > sizes[2]


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"shape \(4, 20\)"):
        NativeLinear(NativePool(1), numbers(4, 20), None, mode="fp32")
