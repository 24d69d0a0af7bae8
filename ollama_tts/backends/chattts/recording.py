"""A recording → the codes that the model continues, by upstream's DVAE encoder.

The encoder is needed once for each recording, so it is loaded, used and dropped.
"""

import importlib
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.clip import read_mono
from ollama_tts.backends.chattts.reference import dvae_sizes, quiet
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.errors import InvalidWeights, LoadFailed


class RecordingEncoder:
    """Turns recordings into codes with one checkpoint's DVAE."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    def __call__(self, path: Path) -> NDArray[np.int32]:
        """The codes of a recording, int32 [codebooks, T].

        Raises:
            InvalidWeights: Not a recording, too short or too long, or a checkpoint without DVAE.
            LoadFailed: The ChatTTS package is not installed.
        """
        if not self._checkpoint.has(layout.DVAE):
            raise InvalidWeights(f"voices from recordings need {layout.DVAE} in the model")
        sound = read_mono(path)
        with quiet(), torch.inference_mode():
            codes = self._dvae()(torch.from_numpy(sound), "encode")[0]
        return np.asarray(codes.cpu().numpy(), np.int32)

    def _dvae(self) -> torch.nn.Module:
        """Upstream's module with this checkpoint's weights."""
        try:
            theirs = importlib.import_module("ChatTTS.model.dvae")
        except ImportError as error:
            raise LoadFailed(
                f"voices from recordings need the package ChatTTS 0.2.5: {error}"
            ) from error
        config = self._checkpoint.config
        made: torch.nn.Module = theirs.DVAE(**dvae_sizes(config))
        names = layout.shapes(config)[layout.DVAE]
        made.load_state_dict(
            {n: self._checkpoint.tensor(layout.DVAE, n, torch.float32) for n in names}
        )
        return made.eval()
