from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from ollama_tts.backends.chattts.native.library import MODES, PATHS, Mode, Path
from ollama_tts.backends.chattts.native.stages import NativeStage, NativeStages, StagePart
from ollama_tts.errors import Unsupported
from tests.support.native import paths

MOST = {"fp32": 1e-6, "bf16": 5e-3, "int8": 3e-2}
EVERY = [(mode, path) for mode in MODES for path in PATHS if path in paths()]
Floats = NDArray[np.float32]


def numbers(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def product(weight: Floats, bias: Floats | None, mode: Mode) -> NativeStage:
    """`y = x Wᵀ + b` as a convolution of one frame."""
    parts = {StagePart.FIRST: weight}
    if bias is not None:
        parts[StagePart.FIRST_BIAS] = bias
    outputs, channels = weight.shape
    return NativeStage(channels, outputs, 1, parts, mode=mode)


def block(mode: Mode, channels: int = 48, inner: int = 96) -> NativeStage:
    parts = {
        StagePart.FIRST: numbers(inner, channels) / channels**0.5,
        StagePart.FIRST_BIAS: numbers(inner, seed=1),
        StagePart.SECOND: numbers(channels, inner, seed=2) / inner**0.5,
        StagePart.SECOND_BIAS: numbers(channels, seed=3),
        StagePart.TAPS: numbers(7, channels, seed=4),
        StagePart.TAPS_BIAS: numbers(channels, seed=5),
        StagePart.NORM_SCALE: numbers(channels, seed=6),
        StagePart.NORM_SHIFT: numbers(channels, seed=7),
    }
    return NativeStage(channels, channels, 7, parts, dilation=2, inner=inner, mode=mode)


def run(stages: NativeStages, x: Floats) -> Floats:
    return stages.push(x, [len(x)], [stages.begin()], last=[True], ahead=[False])[0][0]


@pytest.mark.parametrize(("mode", "path"), EVERY)
@pytest.mark.parametrize(("outputs", "inputs"), [(512, 384), (100, 50), (1026, 512), (1, 16)])
def test_it_multiplies_and_adds_the_bias(mode: Mode, path: Path, outputs: int, inputs: int) -> None:
    weight, bias = numbers(outputs, inputs), numbers(outputs, seed=1)
    x = numbers(70, inputs, seed=2)
    expected = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    made = run(NativeStages([product(weight, bias, mode)], threads=2, path=path), x)
    assert made.shape == (70, outputs)
    assert np.abs(made - expected).max() < MOST[mode] * np.abs(expected).max()


@pytest.mark.parametrize(("mode", "path"), EVERY)
def test_neither_pieces_nor_company_nor_threads_change_a_bit(mode: Mode, path: Path) -> None:
    shapes = [block(mode), product(numbers(32, 48), None, "fp32")]
    stages = NativeStages(shapes, threads=3, path=path)
    every = [numbers(n, 48, seed=n) for n in (150, 1, 40)]
    alone = [run(NativeStages(shapes, threads=1, path=path), x) for x in every]
    states = [stages.begin() for _ in every]
    parts: list[list[Floats]] = [[] for _ in every]
    for start in range(0, 150, 37):
        pieces = [x[start : start + 37] for x in every]
        last = [start < len(x) <= start + 37 for x in every]
        counts = [len(piece) for piece in pieces]
        made, states = stages.push(
            np.concatenate(pieces), counts, states, last=last, ahead=[False] * 3
        )
        for part, rows in zip(parts, made, strict=True):
            part.append(rows)
    for part, whole in zip(parts, alone, strict=True):
        np.testing.assert_array_equal(np.concatenate(part), whole)


def ends(stages: NativeStages, x: Floats, cuts: Sequence[int]) -> list[Floats]:
    """What each look ahead after `cuts` frames gives, with what came before it."""
    state, done = stages.begin(), np.empty((0, 48), np.float32)
    found: list[Floats] = []
    for start, stop in pairwise([0, *cuts]):
        made, (state,) = stages.push(
            x[start:stop], [stop - start], [state], last=[False], ahead=[True]
        )
        done = np.concatenate([done, made[0]])
        found.append(np.concatenate([done, made[1]]))
    return found


@pytest.mark.parametrize("mode", MODES)
def test_looking_ahead_is_ending_now_and_changes_nothing(mode: Mode) -> None:
    stages, x = NativeStages([block(mode), block(mode)], threads=2), numbers(60, 48)
    cuts = [1, 8, 30, 31, 60]
    for stop, now in zip(cuts, ends(stages, x, cuts), strict=True):
        np.testing.assert_array_equal(now, run(stages, x[:stop]))


def test_no_frames_make_no_frames() -> None:
    stages = NativeStages([product(numbers(5, 16), None, "fp32")], threads=1)
    assert run(stages, numbers(0, 16)).shape == (0, 5)


def test_precision_decides_the_memory() -> None:
    sizes = [
        NativeStages([product(numbers(64, 256), None, mode)], threads=1).nbytes for mode in MODES
    ]
    assert sizes[0] == 64 * 256 * 4
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize(
    "stages",
    [
        [block("fp32", channels=20)],
        [product(numbers(4, 16), None, "fp32"), product(numbers(4, 16), None, "fp32")],
    ],
)
def test_what_it_cannot_do_is_refused(stages: list[NativeStage]) -> None:
    with pytest.raises(Unsupported, match="decoder of this shape"):
        NativeStages(stages, threads=1)
