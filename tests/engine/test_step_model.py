from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ollama_tts.engine.step_model import Geometry, attempt_seed, mix64, uniform


@pytest.mark.parametrize(
    ("seed", "numbers"),
    [
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]),
        (1234567, [0x599ED017FB08FC85, 0x2C73F08458540FA5, 0x883EBCE5A3F27C77]),
    ],
)
def test_mixing_is_splitmix64(seed: int, numbers: list[int]) -> None:
    golden = 0x9E3779B97F4A7C15
    assert [mix64(seed + golden * (i + 1)) for i in range(3)] == numbers


@given(st.integers(0, 2**64 - 1), st.integers(0, 4000), st.integers(0, 3), st.integers(0, 25_000))
def test_random_numbers_lie_between_0_and_1_and_are_exact(
    seed: int, step: int, codebook: int, index: int
) -> None:
    number = uniform(seed, step, codebook, index)
    assert 0 < number < 1
    assert Fraction(float(np.float32(number))) == Fraction(number)


def test_random_numbers_are_even() -> None:
    numbers = np.array(
        [uniform(7, s, c, i) for s in range(20) for c in range(4) for i in range(50)]
    )
    assert abs(numbers.mean() - 0.5) < 0.02
    assert abs(numbers.var() - 1 / 12) < 0.005
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert counts.min() > 320
    assert len(np.unique(numbers)) > 3990


def test_neighbouring_steps_codebooks_ids_and_seeds_do_not_move_together() -> None:
    base = [uniform(7, s, 0, 5) for s in range(1000)]
    others = (
        [uniform(7, s + 1, 0, 5) for s in range(1000)],
        [uniform(7, s, 1, 5) for s in range(1000)],
        [uniform(7, s, 0, 6) for s in range(1000)],
        [uniform(8, s, 0, 5) for s in range(1000)],
    )
    for other in others:
        assert abs(np.corrcoef(base, other)[0, 1]) < 0.12


def test_later_attempts_have_seeds_of_their_own() -> None:
    assert attempt_seed(2**64 + 5, 0) == 5
    assert len({attempt_seed(5, attempt) for attempt in range(3)}) == 3


def test_samples_of_whole_utterances() -> None:
    geometry = Geometry(slots=1, positions=10)
    assert [geometry.samples(n) for n in (0, 1, 2, 100)] == [0, 256, 768, 50944]
    assert [geometry.steps(n) for n in (0, 1, 512, 513, 50944)] == [0, 1, 1, 2, 100]
