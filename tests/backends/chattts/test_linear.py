"""Weight formats: what they cost, how far off they are, and that rows never touch."""

import pytest
import torch
from torch import Tensor

from ollama_tts.backends.chattts.linear import Linear, pack

FORMATS = {"fp32": (torch.float32, 1e-6), "bf16": (torch.bfloat16, 0.01),
           "fp16": (torch.float16, 0.002), "int8": (torch.float32, 0.01),
           "int4": (torch.float32, 0.12)}  # fmt: skip
SHAPES = [(2304, 768), (768, 3072), (96, 64), (30, 50)]


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_product_is_near_the_exact_one(name: str, shape: tuple[int, int]) -> None:
    dtype, error = FORMATS[name]
    weight, x, bias = numbers(*shape), numbers(5, shape[1], seed=1), numbers(shape[0], seed=2)
    exact = (x.double() @ weight.double().T + bias).float()
    made = Linear(pack(weight, name, dtype), bias)(x, 2)
    assert made.dtype == torch.float32
    assert (made - exact).norm() <= error * exact.norm()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("tile", [2, 4, 16, 32])
def test_rows_never_touch(name: str, tile: int) -> None:
    linear = Linear(pack(numbers(192, 768), name, FORMATS[name][0]))
    x = numbers(40, 768, seed=1)
    alone = torch.cat([linear(row[None], tile) for row in x])
    for seed in range(4):
        order = torch.randperm(40, generator=torch.Generator().manual_seed(seed))[: 5 + 9 * seed]
        assert torch.equal(linear(x[order], tile), alone[order])


def test_bytes() -> None:
    weight = numbers(768, 3072)
    sizes = {n: pack(weight, n, d).nbytes / weight.numel() for n, (d, _) in FORMATS.items()}
    assert sizes == pytest.approx(
        {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1 + 4 / 128, "int4": 0.5 + 4 / 32}
    )


def test_no_rows_give_no_rows() -> None:
    assert Linear(pack(numbers(4, 8), "fp32", torch.float32))(torch.empty(0, 8), 2).shape == (0, 4)


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_a_constant_group_stays_itself(name: str) -> None:
    weight = torch.full((4, 128), 0.75)
    weight[1] = 0
    assert torch.allclose(pack(weight, name, torch.float32).dense(), weight, atol=1e-3)
