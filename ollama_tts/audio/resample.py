"""From one sample rate to another, as a stream."""

import numpy as np
import soxr
from numpy.typing import NDArray


class Resampler:
    """Resamples a stream by soxr's high quality filter.

    In whatever pieces the sound comes, the result is sample for sample the one of the whole
    sound, N * out_hz / in_hz samples long, rounded to the nearest. Equal rates pass through
    untouched.
    """

    def __init__(self, in_hz: int, out_hz: int) -> None:
        same = in_hz == out_hz
        self._stream = None if same else soxr.ResampleStream(in_hz, out_hz, 1, dtype="float32")

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take float32 [N] at `in_hz`; give what is final now, float32 [M] at `out_hz`.

        The filter looks ahead: the first samples come after some 40 ms of sound.
        """
        return samples if self._stream is None else self._stream.resample_chunk(samples)

    def finish(self) -> NDArray[np.float32]:
        """The rest, float32 [M], once. Nothing may be fed afterwards."""
        stream, self._stream = self._stream, None
        nothing = np.zeros(0, np.float32)
        return nothing if stream is None else stream.resample_chunk(nothing, last=True)
