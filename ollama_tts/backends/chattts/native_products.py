"""Products of the decoder and vocoder, made in the native library."""

import torch
from torch import Tensor

from ollama_tts.backends.chattts.linear import Maker, Product, dense_product
from ollama_tts.backends.chattts.native.library import Mode, Path
from ollama_tts.backends.chattts.native.linear import NativeLinear, NativePool

STEP = 16


class NativeProduct:
    """A `Product` in the native library; rows never touch there, whatever the tile."""

    def __init__(self, linear: NativeLinear) -> None:
        self._linear = linear

    @property
    def nbytes(self) -> int:
        """Bytes that its weights occupy."""
        return self._linear.nbytes

    def __call__(self, x: Tensor, tile: int) -> Tensor:  # noqa: ARG002  # for products that need it
        """Float32 [R, K] → float32 [R, N]."""
        return torch.from_numpy(self._linear(x.numpy()))


def native_maker(threads: int, *, int8: bool, path: Path = "best") -> Maker:
    """Makes products that share `threads` threads, coarse ones in int8 if asked, else in float32.

    Where a shape does not fit, the product is made in torch.

    Raises:
        Unsupported: The library is not there, or the path does not run here.
    """
    pool = NativePool(threads, path)

    def make(weight: Tensor, bias: Tensor | None, *, coarse: bool) -> Product:
        if weight.shape[1] % STEP:
            return dense_product(weight, bias, coarse=coarse)
        mode: Mode = "int8" if coarse and int8 else "fp32"
        shift = None if bias is None else bias.numpy()
        return NativeProduct(NativeLinear(pool, weight.numpy(), shift, mode=mode, wide_inputs=True))

    return make
