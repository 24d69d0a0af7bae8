"""ChatTTS's Decoder as stages of a stream: hidden states → mel frames.

A hidden state float32 [hidden] is two frames of half its width; frames leave as [n_mels].
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.linear import Maker, Product
from ollama_tts.backends.chattts.stream_conv import Block, Conv, flattened
from ollama_tts.backends.chattts.weights import Checkpoint


@dataclass(frozen=True, slots=True)
class Stage:
    """A convolution and what is done to each frame after it."""

    conv: Conv | Block
    after: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one weight file's tensors as float32 on one device; `make` makes its products."""

    checkpoint: Checkpoint
    file: str
    device: torch.device
    make: Maker

    def tensor(self, name: str) -> Tensor:
        """The tensor `name`."""
        return self.checkpoint.tensor(self.file, name, torch.float32, self.device)

    def linear(self, name: str, *, coarse: bool) -> Product:
        """A product with its bias."""
        return self.make(self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), coarse=coarse)

    def conv(self, name: str, *, bias: bool) -> Conv:
        """A convolution over all channels."""
        weight = self.tensor(f"{name}.weight")
        shift = self.tensor(f"{name}.bias") if bias else None
        matrix = self.make(flattened(weight), shift, coarse=False)
        return Conv(matrix, channels=weight.shape[1], kernel=weight.shape[2])

    def norm(self, name: str) -> tuple[Tensor, Tensor]:
        """A layer norm's scale and shift."""
        return self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")

    def block(self, name: str, *, scale: str, dilation: int) -> Block:
        """A ConvNeXt block."""
        return Block(
            taps=self.tensor(f"{name}.dwconv.weight")[:, 0].T.contiguous(),
            bias=self.tensor(f"{name}.dwconv.bias"),
            dilation=dilation,
            norm=self.norm(f"{name}.norm"),
            grow=self.linear(f"{name}.pwconv1", coarse=True),
            shrink=self.linear(f"{name}.pwconv2", coarse=True),
            scale=self.tensor(f"{name}.{scale}"),
        )


def decoder_stages(checkpoint: Checkpoint, device: torch.device, make: Maker) -> list[Stage]:
    """The Decoder, first stage first."""
    reader = Reader(checkpoint, layout.DECODER, device, make)
    coef = reader.tensor("coef").flatten()
    blocks = [
        Stage(reader.block(f"decoder.decoder_block.{i}", scale="weight", dilation=2))
        for i in range(checkpoint.config.decoder.n_layer)
    ]
    return [
        Stage(reader.conv("decoder.conv_in.0", bias=True), functional.gelu),
        Stage(reader.conv("decoder.conv_in.2", bias=True)),
        *blocks,
        Stage(reader.conv("decoder.conv_out", bias=False)),
        Stage(reader.conv("out_conv", bias=False), lambda mel: mel * coef),
    ]


def frames_of(hidden: Tensor) -> Tensor:
    """Hidden states [n, hidden] as frames [2n, hidden / 2]: first halves are the earlier ones."""
    return hidden.reshape(2 * hidden.shape[0], hidden.shape[1] // 2)
