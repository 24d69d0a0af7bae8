"""Speaker strings and voice prompts in ChatTTS's own spelling, and random speakers.

A speaker string is base16384 of raw LZMA2 of `hidden` float16 numbers. A voice prompt string is
base16384 of two little-endian uint16 (codebooks, tokens) and raw LZMA2 of that many uint16 codes.
"""

import lzma

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from ollama_tts.backends.chattts import base16384
from ollama_tts.errors import InvalidRequest, InvalidWeights

FILTERS = ({"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME},)
MAX_STRING_CHARS = 1 << 20
EPSILON = 1e-12


class InvalidSpeaker(InvalidRequest):
    """A text that is not a speaker string or voice prompt of this model."""


def encode_speaker(vector: NDArray[np.float32]) -> str:
    """The speaker string of `vector`, float32 [hidden] (kept as float16)."""
    return base16384.encode(_compress(vector.astype("<f2").tobytes()))


def decode_speaker(text: str, hidden: int) -> NDArray[np.float32]:
    """The vector of a speaker string, float32 [`hidden`], not normalised.

    Raises:
        InvalidSpeaker: Not a speaker string, or one for a model of another width.
    """
    raw = _decompress(_spelled(text), limit=2 * hidden)
    if len(raw) != 2 * hidden:
        raise InvalidSpeaker(
            f"the speaker string holds {len(raw) // 2} numbers; this model wants {hidden}"
        )
    vector = np.frombuffer(raw, "<f2").astype(np.float32)
    if not np.isfinite(vector).all():
        raise InvalidSpeaker("the speaker string holds numbers that are not finite")
    return vector


def encode_codes(codes: NDArray[np.int32]) -> str:
    """The voice prompt string of `codes`, int32 [codebooks, T]."""
    shape = np.array(codes.shape, "<u2").tobytes()
    return base16384.encode(shape + _compress(codes.astype("<u2").tobytes()))


def decode_codes(text: str, codebooks: int, codes: int, max_tokens: int) -> NDArray[np.int32]:
    """The codes of a voice prompt string, int32 [`codebooks`, T], each under `codes`.

    Raises:
        InvalidSpeaker: Not such a string, or one that this model cannot continue.
    """
    raw = _spelled(text)
    shape = np.frombuffer(raw[:4].ljust(4, b"\0"), "<u2")
    rows, tokens = int(shape[0]), int(shape[1])
    if rows != codebooks or not 0 < tokens <= max_tokens:
        raise InvalidSpeaker("this is not a voice prompt string of this model")
    data = _decompress(raw[4:], limit=2 * rows * tokens)
    found = np.frombuffer(data[: len(data) // 2 * 2], "<u2").astype(np.int32)
    if found.size != rows * tokens or (found >= codes).any():
        raise InvalidSpeaker("the voice prompt string is damaged or of another model")
    return found.reshape(rows, tokens)


def normalized(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """`vector` at length 1, float32 [hidden], as it is written over an embedding.

    Computed in half precision, as upstream does: its last bits decide between near candidates.
    """
    half = torch.from_numpy(vector).half()
    return np.asarray(functional.normalize(half, p=2.0, dim=0, eps=EPSILON).float().numpy())


class Statistics:
    """What all speakers of a model have in common; draws random ones.

    Args:
        text: Upstream's `spk_stat`: base16384 of float16 [2, hidden], deviations then means.
        hidden: The model's width.

    Raises:
        InvalidWeights: The statistics are of another width or no statistics.
    """

    def __init__(self, text: str, hidden: int) -> None:
        try:
            raw = base16384.decode(text)
        except ValueError as error:
            raise InvalidWeights(f"spk_stat is damaged: {error}") from None
        if len(raw) != 4 * hidden:
            raise InvalidWeights(f"spk_stat holds {len(raw) // 2} numbers, not {2 * hidden}")
        both = torch.from_numpy(np.frombuffer(raw, "<f2").copy()).view(2, hidden)
        self._deviation, self._mean = both[0], both[1]

    def draw(self, seed: int) -> NDArray[np.float32]:
        """The random speaker number `seed`, float32 [hidden], not normalised.

        It is the speaker that upstream's `sample_random_speaker` draws on a CPU after
        `torch.manual_seed(seed)`, so seeds that people pass on keep their voice.
        """
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(len(self._mean), generator=generator, dtype=torch.float16)
        return np.asarray((noise * self._deviation + self._mean).float().numpy(), np.float32)


def _spelled(text: str) -> bytes:
    if len(text) > MAX_STRING_CHARS:
        raise InvalidSpeaker("a speaker string cannot be that long")
    try:
        return base16384.decode(text.strip())
    except ValueError:
        raise InvalidSpeaker("this is not a speaker string") from None


def _compress(raw: bytes) -> bytes:
    return lzma.compress(raw, format=lzma.FORMAT_RAW, filters=FILTERS)


def _decompress(raw: bytes, limit: int) -> bytes:
    """At most `limit` bytes and one more, however much `raw` would unfold to."""
    try:
        return lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=FILTERS).decompress(
            raw, max_length=limit + 1
        )
    except (lzma.LZMAError, EOFError):
        raise InvalidSpeaker("the speaker string is damaged") from None
