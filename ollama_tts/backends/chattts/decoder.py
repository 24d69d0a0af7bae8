"""ChatTTS's Decoder as stages of a stream: hidden states → mel frames.

A hidden state float32 [hidden] is two frames of half its width; frames leave as [n_mels].
"""

import torch
from torch import Tensor

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.stages import ConvWeights, Reader, StageWeights
from ollama_tts.backends.chattts.weights import Checkpoint


def decoder_stages(checkpoint: Checkpoint, device: torch.device) -> list[StageWeights]:
    """The Decoder, first stage first; the factor of each mel band is part of the last."""
    reader = Reader(checkpoint, layout.DECODER, device)
    factor = reader.tensor("coef").reshape(-1, 1, 1)
    blocks = [
        reader.block(f"decoder.decoder_block.{i}", scale="weight", dilation=2, after=None)
        for i in range(checkpoint.config.decoder.n_layer)
    ]
    return [
        ConvWeights(*reader.pair("decoder.conv_in.0"), after="gelu"),
        ConvWeights(*reader.pair("decoder.conv_in.2")),
        *blocks,
        ConvWeights(reader.tensor("decoder.conv_out.weight")),
        ConvWeights(reader.tensor("out_conv.weight") * factor),
    ]


def frames_of(hidden: Tensor) -> Tensor:
    """Hidden states [n, hidden] as frames [2n, hidden / 2]: first halves are the earlier ones."""
    return hidden.reshape(2 * hidden.shape[0], hidden.shape[1] // 2)
