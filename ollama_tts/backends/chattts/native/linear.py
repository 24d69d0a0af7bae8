"""Single matrices in the native library, for the decoder: y = x W' + bias, row by row.

A row's result depends on that row alone, bit for bit: not on how many rows come together.
"""

import ctypes

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.chattts.native import library
from ollama_tts.backends.chattts.native.library import MODES, PATHS, Mode, Path
from ollama_tts.errors import OutOfMemory, Unsupported


class NativePool:
    """Threads and work space for matrices; used by one thread at a time.

    Raises:
        Unsupported: The library is not there, or the path does not run here.
    """

    def __init__(self, threads: int, path: Path = "best") -> None:
        self.library = library.load()
        status = ctypes.c_int32()
        self.handle = self.library.ott_pool_new(threads, PATHS.index(path), ctypes.byref(status))
        if not self.handle:
            raise Unsupported(f"the native library does not run on {path!r} here")

    def __del__(self) -> None:
        """End the threads."""
        if getattr(self, "handle", None):
            self.library.ott_pool_free(self.handle)


class NativeLinear:
    """One matrix [outputs, inputs] with an optional bias [outputs].

    Args:
        pool: Where it runs.
        weight: Float32 [outputs, inputs]; packed, not kept. `inputs` is a multiple of 16.
        bias: Float32 [outputs], or None.
        mode: Precision of the weights; int8 quantises inputs too, a scale per group of 128.
        wide_inputs: Inputs have heavy tails (what an activation function gives): with int8 they
            get 16 bits.

    Raises:
        Unsupported: A shape that it cannot do.
        OutOfMemory: No memory for the weights.
    """

    def __init__(
        self,
        pool: NativePool,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32] | None,
        *,
        mode: Mode,
        wide_inputs: bool = False,
    ) -> None:
        self._pool = pool
        self._outputs, self._inputs = weight.shape
        status = ctypes.c_int32()
        self._handle = pool.library.ott_linear_new(
            self._outputs, self._inputs, MODES.index(mode), int(wide_inputs), ctypes.byref(status)
        )
        if status.value == library.NO_MEMORY:
            raise OutOfMemory("no memory for a matrix of the decoder")
        if not self._handle:
            raise Unsupported(f"the native library does not do matrices of shape {weight.shape}")
        weight = np.ascontiguousarray(weight, dtype=np.float32)
        pool.library.ott_linear_fill(self._handle, 0, self._outputs, 0, weight.ctypes.data)
        if bias is not None:
            bias = np.ascontiguousarray(bias, dtype=np.float32)
            assert bias.shape == (self._outputs,)
            pool.library.ott_linear_bias(self._handle, bias.ctypes.data)

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Float32 [rows, inputs] → float32 [rows, outputs].

        Raises:
            OutOfMemory: No work space for so many rows.
        """
        assert x.dtype == np.float32
        assert x.shape[1] == self._inputs
        x = np.ascontiguousarray(x)
        y = np.empty((len(x), self._outputs), np.float32)
        status = self._pool.library.ott_linear_apply(
            self._handle, self._pool.handle, len(x), x.ctypes.data, y.ctypes.data
        )
        if status != library.OK:
            raise OutOfMemory("no memory to make this sound")
        return y

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        return int(self._pool.library.ott_linear_bytes(self._handle))

    def __del__(self) -> None:
        """Free the weights."""
        if getattr(self, "_handle", None):
            self._pool.library.ott_linear_free(self._handle)
