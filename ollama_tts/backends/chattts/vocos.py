"""Vocos as stages of a stream: mel frames → spectra → overlapping windows → samples.

Letters: F frames, N samples of a window (`n_fft`), hop = N / 4.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.stages import ConvWeights, Reader, StageWeights
from ollama_tts.backends.chattts.weights import Checkpoint

MAX_MAGNITUDE = 1e2
OVERLAP = 3


def vocos_stages(checkpoint: Checkpoint, device: torch.device) -> list[StageWeights]:
    """The backbone and the head's product, first stage first."""
    reader = Reader(checkpoint, layout.VOCOS, device)
    last = checkpoint.config.vocos.num_layers - 1
    first, final = reader.pair("backbone.norm"), reader.pair("backbone.final_layer_norm")
    blocks = [
        reader.block(
            f"backbone.convnext.{i}", scale="gamma", dilation=1, after=final if i == last else None
        )
        for i in range(last + 1)
    ]
    weight, bias = reader.pair("head.out")
    return [
        ConvWeights(*reader.pair("backbone.embed"), after=first),
        *blocks,
        ConvWeights(weight[:, :, None], bias),
    ]


@dataclass(frozen=True, slots=True)
class Overlap:
    """What one stream keeps between pieces: its last three windows [3, N] and which are real.

    `skip`: how many leading blocks of a hop are still to be dropped ("center" padding).
    """

    windows: Tensor
    real: Tensor
    skip: int = 2


class Head:
    """Inverse transform of spectra, and overlap-add."""

    def __init__(self, checkpoint: Checkpoint, device: torch.device) -> None:
        reader = Reader(checkpoint, layout.VOCOS, device)
        self._window = reader.tensor("head.istft.window")
        self._size = checkpoint.config.vocos.n_fft
        self._hop = checkpoint.config.vocos.hop_length

    @property
    def nbytes(self) -> int:
        """Bytes of its window."""
        return self._window.nbytes

    def begin(self) -> Overlap:
        """A new stream."""
        return Overlap(self._window.new_zeros(OVERLAP, self._size), self._window.new_zeros(OVERLAP))

    def windows(self, rows: Tensor) -> Tensor:
        """Rows [F, N + 2], magnitudes and phases → windowed pieces of sound [F, N]."""
        if not rows.shape[0]:
            return rows.new_zeros(0, self._size)
        magnitude, phase = rows.chunk(2, -1)
        magnitude = magnitude.exp().clamp(max=MAX_MAGNITUDE)
        spectrum = torch.complex(magnitude * phase.cos(), magnitude * phase.sin())
        sound: Tensor = torch.fft.irfft(spectrum, self._size, dim=-1) * self._window
        return sound

    def add(self, windows: Tensor, state: Overlap, *, last: bool) -> tuple[Tensor, Overlap]:
        """Samples that no later window touches, float32 [n], and what is kept.

        The last window's end is half a window away: one more block comes with `last`.
        """
        end = int(last)
        fresh = functional.pad(windows, (0, 0, 0, end))
        real = functional.pad(windows.new_ones(len(windows)), (0, end))
        pieces = torch.cat([state.windows, fresh]).view(-1, 4, self._hop)
        exists = torch.cat([state.real, real])
        blocks = len(fresh)
        squared = self._window.view(4, self._hop) ** 2
        sound = windows.new_zeros(blocks, self._hop)
        weight = windows.new_zeros(blocks, self._hop)
        for age in (3, 2, 1, 0):
            span = slice(OVERLAP - age, OVERLAP - age + blocks)
            sound = sound + pieces[span, age]
            weight = weight + exists[span, None] * squared[age]
        skipped = min(state.skip, blocks)
        kept = Overlap(
            pieces[blocks:].reshape(OVERLAP, self._size), exists[blocks:], state.skip - skipped
        )
        return (sound[skipped:] / weight[skipped:]).flatten(), kept
